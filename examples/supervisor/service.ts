import { createHash } from 'node:crypto';
import { unexpected } from './expected.js';

/** What is wanted: so many processes of one command. */
export interface Service {
  readonly command: readonly [string, ...string[]];
  readonly replicas: number;
  readonly env: Readonly<Record<string, string>>;
  /** The folder where the command runs, by its real path: in the next release the same command is another one. */
  readonly folder: string;
  /** Changes with all that a running process cannot take over: not with the number of replicas. */
  readonly version: string;
}

/** A typo must not ask for a thousand processes. */
const MOST_REPLICAS = 100;

const FIELDS = ['command', 'replicas', 'env'];

/**
 * Reads the text of a service file: `{ "command": ["node", "web.js"], "replicas": 2, "env": { "PORT": "0" } }`, of which
 * only `command` must be there.
 *
 * @param folder - where it lies
 * @throws TypeError that names the field, what was expected and what came
 */
export function parseService(text: string, folder: string): Service {
  const file = parseJson(text);
  if (!isRecord(file)) throw unexpected('the file', 'an object such as { "command": ["node", "web.js"] }', file);
  for (const field of Object.keys(file)) {
    if (!FIELDS.includes(field)) throw unexpected('the fields', `out of ${FIELDS.join(', ')}`, field);
  }
  const { command, replicas = 1, env = {} } = file;
  if (!isCommand(command)) throw unexpected('command', 'a list of strings, the program first', command);
  if (!Number.isInteger(replicas) || (replicas as number) < 0 || (replicas as number) > MOST_REPLICAS)
    throw unexpected('replicas', `an integer from 0 to ${MOST_REPLICAS}`, replicas);
  if (!isRecord(env)) throw unexpected('env', 'an object of strings', env);
  for (const [name, value] of Object.entries(env)) {
    if (!isText(value)) throw unexpected(`env.${name}`, 'a string', value);
    if (!isText(name) || name === '' || name.includes('=')) throw unexpected('the names in env', 'non-empty and without `=`', name);
  }
  return { command, replicas: replicas as number, env: env as Service['env'], folder, version: versionOf(command, env, folder) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new TypeError(`Expected the file to be JSON: ${(error as Error).message}`, { cause: error });
  }
}

function versionOf(command: readonly string[], env: object, folder: string): string {
  const variables = Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([command, variables, folder]))
    .digest('hex')
    .slice(0, 12);
}

function isCommand(value: unknown): value is [string, ...string[]] {
  return Array.isArray(value) && value.every(isText) && value[0] !== undefined && value[0] !== '';
}

/** The operating system ends its strings at the first NUL. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
