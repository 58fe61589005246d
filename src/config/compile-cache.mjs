// @ts-check
// Plain JavaScript: stripping the types of this file, before there is a cache, would take a third of the time of a command.
import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/**
 * Returns the folder in which Node may keep compiled code, or undefined if there is none that only this user can write to: code
 * from the cache is executed. Node's own default is a folder in /tmp with a name that another user could have taken.
 * @returns {string | undefined}
 */
export function compileCacheDirectory() {
  const { NODE_COMPILE_CACHE, XDG_CACHE_HOME = '' } = process.env;
  // Node has enabled the operator's folder already.
  if (NODE_COMPILE_CACHE) return undefined;
  const folder = join(isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(homedir(), '.cache'), 'sitekeeper', 'compiled');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return isPrivate(folder) && isPrivate(join(folder, '..')) ? folder : undefined;
  } catch {
    return undefined; // The home directory does not exist or is read-only, as in a container.
  }
}

/**
 * Whether the folder belongs to this user, with access for nobody else. An own folder that is too open is closed.
 * @param {string} folder
 */
function isPrivate(folder) {
  if (!process.getuid) return true; // Windows has other rights, and a home directory that is private.
  const found = lstatSync(folder);
  if (!found.isDirectory() || found.uid !== process.getuid()) return false;
  if ((found.mode & 0o077) !== 0) chmodSync(folder, 0o700);
  return (lstatSync(folder).mode & 0o077) === 0;
}
