// Texts of messages. A text can contain times, because some channels show them in the time zone of the reader.

export type Text = readonly (string | Date)[];

/** Joins a text. `showTime` also gets the time before, of which the day need not be repeated. */
export function joinText(text: Text, showTime: (time: Date, before: Date | undefined) => string, encode = (part: string) => part): string {
  let before: Date | undefined;
  const parts = text.map((part) => {
    if (typeof part === 'string') return encode(part);
    const shown = showTime(part, before);
    before = part;
    return shown;
  });
  return parts.join('');
}

interface UtcOptions {
  /** Days get the year unless it is that of this time. */
  now: Date;
  withSeconds?: boolean;
  encode?: (part: string) => string;
}

/** Joins a text with times in UTC: "Sun 15 Nov, 01:41 to 02:04 UTC". */
export function utcText(text: Text, { now, withSeconds = false, encode }: UtcOptions): string {
  const last = text.findLast((part) => part instanceof Date);
  const showTime = (time: Date, before: Date | undefined) => {
    const clock = time.toISOString().slice(11, withSeconds ? 19 : 16);
    const isSameDay = before && utcDate(before) === utcDate(time);
    return `${isSameDay ? clock : `${utcDay(time, now)}, ${clock}`}${time === last ? ' UTC' : ''}`;
  };
  return joinText(text, showTime, encode);
}

/** Formats a day in UTC: "Sun 15 Nov", with the year if it is not that of `now`. */
function utcDay(time: Date, now: Date): string {
  const [weekday, day, month, year] = time.toUTCString().replace(',', '').split(' ');
  const text = `${weekday} ${Number(day)} ${month}`;
  return time.getUTCFullYear() === now.getUTCFullYear() ? text : `${text} ${year}`;
}

function utcDate(time: Date): string {
  return time.toISOString().slice(0, 10);
}

/** Removes what could make a text look like another one: control characters, and those that change the direction of writing. */
export function plainText(text: string): string {
  return text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\p{Co}\p{Cs}]/gu, '')
    .trim();
}
