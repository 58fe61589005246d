// The package has no types. These cover the part that is used here.
declare module 'openapi-to-postmanv2' {
  interface Conversion {
    result: boolean;
    reason?: string;
    output?: { type: 'collection'; data: unknown }[];
  }
  type Done = (error: Error | null, conversion: Conversion) => void;
  const converter: { convertV2(input: { type: 'json'; data: unknown }, options: Record<string, unknown>, done: Done): void };

  export type { Conversion };
  export default converter;
}
