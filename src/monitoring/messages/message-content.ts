import type { Text } from './text.ts';

/** Whether something is bad, good, about to become bad, or none of these. */
export type Tone = 'down' | 'up' | 'warning' | 'neutral';

/** What a message says, before a channel gives it a form. */
export interface Content {
  tone: Tone;
  sign: string;
  /** What makes somebody get the message: an assignment, or the providers of an account. Null if the message says why itself. */
  about: 'monitor' | 'monitors' | 'providers' | null;
  /** The state alone, such as "Recovered after 23 min". */
  state: string;
  /** What it is about: the name of the monitor. Null if the state says everything. */
  name: string | null;
  /** Complete without the others: "Down: Checkout API". */
  title: string;
  /** What has happened, in one line. */
  line: Text;
  /** The lines of a list, if the message is about several events. */
  list: string[];
  facts: Fact[];
  links: Link[];
  /** The subject of a mail. */
  subject: string;
  /** The time of the event. */
  at: Date;
}

export interface Fact {
  label: string;
  value: Text;
  /** A shorter value, where there is little room beside the label. */
  short?: Text;
  /** The same in a row of facts, where it has no label. Absent if only a table has room for it. */
  phrase?: Text;
  url?: string;
}

export interface Link {
  label: string;
  url: string;
  /** Whether a mail also shows the URL itself, for readers who do not trust a button. */
  isShown?: true;
}
