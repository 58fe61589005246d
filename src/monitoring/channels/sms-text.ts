import { shortened } from './words.ts';

// GSM 03.38, in which a segment has room for 160 signs. Those of the second line take two places.
const gsm =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà';
const gsmExtended = '^{}\\[~]|€';
const gsmRoom = 160;
/** With a single sign outside GSM the whole message is sent in UCS-2, with 70 units a segment. */
const ucs2Room = 70;

/**
 * The text as it fits one segment, because each further one costs as much again. Tried in this order: as it is; with signs
 * outside GSM in plain form (ș as s, “ as ", emoji dropped), so that 160 fit instead of 70; cut, with dots at the end.
 */
export function oneSegment(text: string): string {
  if (fits(text)) return text;
  const plain = isGsm(text) ? text : plainForm(text);
  if (isGsm(plain)) return shortened(plain, gsmRoom, '...', gsmSize);
  return shortened(text, ucs2Room, '…');
}

function fits(text: string): boolean {
  return isGsm(text) ? gsmSize(text) <= gsmRoom : text.length <= ucs2Room;
}

function isGsm(text: string): boolean {
  return [...text].every((sign) => gsm.includes(sign) || gsmExtended.includes(sign));
}

function gsmSize(text: string): number {
  return [...text].reduce((size, sign) => size + (gsmExtended.includes(sign) ? 2 : 1), 0);
}

const plainSigns: Record<string, string> = {
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

function plainForm(text: string): string {
  return text
    .normalize('NFC')
    .replace(/[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{RI}\p{Cf}]/gu, '')
    .replace(/./gsu, (sign) => (isGsm(sign) ? sign : (plainSigns[sign] ?? sign.normalize('NFKD').replace(/\p{Mn}/gu, ''))))
    .replace(/ {2,}/g, ' ')
    .trimStart();
}
