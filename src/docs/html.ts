import escapeHtml from 'escape-html';

/** Markup that is safe to insert into a page. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

type Value = string | number | Html | Html[];

/** A template tag that escapes every value that is not Html. */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  return new Html(String.raw({ raw: strings }, ...values.map(toMarkup)));
}

/** Converts plain text to markup. Text in `backticks` becomes code. */
export function renderText(text: string): Html {
  return new Html(escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>'));
}

function toMarkup(value: Value): string {
  if (Array.isArray(value)) return value.map(toMarkup).join('');
  return value instanceof Html ? value.markup : escapeHtml(String(value));
}
