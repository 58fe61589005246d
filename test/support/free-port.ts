import { chooseAddress } from '../../src/http/port.ts';

/** Returns a port that nobody listens on at the moment. It stays free, also while the server that it is for restarts. */
export async function freePort(): Promise<number> {
  return (await chooseAddress({ host: '127.0.0.1', port: 0 })).port;
}
