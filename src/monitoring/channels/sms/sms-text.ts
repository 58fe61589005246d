import { truncate } from '../redact.ts';

// The GSM 03.38 alphabet. A segment has 160 characters; those of the extended alphabet count twice.
const gsm =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà';
const gsmExtended = '^{}\\[~]|€';
const gsmSegmentLength = 160;
/** A single character outside GSM 03.38 switches the whole message to UCS-2, with 70 units per segment. */
const ucs2SegmentLength = 70;

/**
 * Returns the text if it fits one segment, because each further segment costs as much again: unchanged, or with characters outside GSM
 * simplified (ș to s, “ to ", emoji dropped), so that 160 fit instead of 70.
 */
export function asOneSegment(text: string): string | undefined {
  if (text.length <= ucs2SegmentLength) return text; // It fits in either encoding.
  const plain = isGsm(text) ? text : simplify(text);
  return isGsm(plain) && gsmSize(plain) <= gsmSegmentLength ? plain : undefined;
}

/** Truncates the text if it does not fit one segment. */
export function fitOneSegment(text: string): string {
  const plain = isGsm(text) ? text : simplify(text);
  const truncated = () => (isGsm(plain) ? truncate(plain, gsmSegmentLength, '...', gsmSize) : truncate(text, ucs2SegmentLength, '…'));
  return asOneSegment(text) ?? truncated();
}

/** Whether a text can be sent in the GSM alphabet, after it was simplified. */
export function canBeGsm(text: string): boolean {
  return isGsm(simplify(text));
}

function isGsm(text: string): boolean {
  return [...text].every((character) => gsm.includes(character) || gsmExtended.includes(character));
}

function gsmSize(text: string): number {
  return [...text].reduce((size, character) => size + (gsmExtended.includes(character) ? 2 : 1), 0);
}

const simplified: Record<string, string> = {
  '“': '"',
  '”': '"',
  '„': '"',
  '‘': "'",
  '’': "'",
  '–': '-',
  '—': '-',
  '…': '...',
  '•': '-',
  '→': '->',
};

function simplify(text: string): string {
  return text
    .normalize('NFC')
    .replace(/[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{RI}\p{Cf}]/gu, '')
    .replace(/./gsu, (character) =>
      isGsm(character) ? character : (simplified[character] ?? character.normalize('NFKD').replace(/\p{Mn}/gu, '')),
    )
    .replace(/ {2,}/g, ' ')
    .trimStart();
}
