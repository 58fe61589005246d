/** The environment of other programs: what they need to be found. The rest contains secrets. */
export function programEnvironment(): Record<string, string | undefined> {
  return { PATH: process.env.PATH };
}
