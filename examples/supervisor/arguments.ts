import { statSync } from 'node:fs';
import { unexpected } from './expected.js';

/** What the command line says. */
export interface Arguments {
  readonly dir: string;
  /** Default: a folder of the system's temporary ones, by the name of `dir`. */
  readonly state?: string;
  /** In seconds. */
  readonly for?: number;
  readonly workers: number;
  /** In seconds. */
  readonly resync: number;
  /** In seconds. */
  readonly grace: number;
  readonly json: boolean;
  /** Whether a page shows what the loop does. */
  readonly view: boolean;
  readonly port: number;
  readonly help: boolean;
}

export const USAGE = `Keeps processes in the state that a folder of JSON files describes.

  npm start -- [options]

  --dir <folder>      the service files, one a service (default: examples/supervisor/services)
  --state <folder>    where to remember what runs, and keep its output (default: a temporary folder that belongs to --dir)
  --for <seconds>     stop after so long (default: never)
  --workers <number>  how many services may be worked on at once (default: 16; most of it is waiting)
  --resync <seconds>  how often to look at everything, in case that an event was lost (default: 10)
  --grace <seconds>   how long a process may take to end before it is killed (default: 5)
  --json              print each step as a line of JSON, and nothing else
  --view              serve a page that shows what the loop does, and why, and print its address (default, but with --json)
  --no-view           serve no page
  --port <number>     where on 127.0.0.1 the page is, if that is free (default: 4280; 0: anywhere)
  --help              print this

A service file, web.json: { "command": ["node", "web.js"], "replicas": 2, "env": { "PORT": "8080" } }
`;

const READ = {
  dir: folder,
  state: (option: string, text: string) => check(option, text, 'a folder', text !== ''),
  for: (option: string, text: string) => number(option, text, 'a number of seconds > 0', (value) => value > 0),
  workers: (option: string, text: string) => number(option, text, 'an integer >= 1', (value) => Number.isInteger(value) && value >= 1),
  resync: (option: string, text: string) => number(option, text, 'a number of seconds > 0', (value) => value > 0),
  grace: (option: string, text: string) => number(option, text, 'a number of seconds >= 0', (value) => value >= 0),
  port: (option: string, text: string) =>
    number(option, text, 'an integer from 0 to 65535', (value) => Number.isInteger(value) && value >= 0 && value <= 65_535),
};

/** What each of them sets. */
const FLAGS: Readonly<Record<string, Partial<Arguments>>> = {
  json: { json: true },
  view: { view: true },
  'no-view': { view: false },
  help: { help: true },
};

/**
 * Reads the command line: `--name value` or `--name=value`.
 *
 * @throws TypeError that names the option, what was expected and what came
 */
export function parseArguments(args: readonly string[], dir: string): Arguments {
  const parsed: Record<string, unknown> = { dir, workers: 16, resync: 10, grace: 5, json: false, port: 4280, help: false };
  const left = [...args];
  for (let arg = left.shift(); arg !== undefined; arg = left.shift()) {
    const [, name = '', inline] = /^--([^=]+)(?:=(.*))?$/s.exec(arg) ?? [];
    if (Object.hasOwn(FLAGS, name) && inline === undefined) Object.assign(parsed, FLAGS[name]);
    else if (Object.hasOwn(READ, name))
      parsed[name] = READ[name as keyof typeof READ](`--${name}`, inline ?? left.shift() ?? missing(`--${name}`));
    else
      throw unexpected(
        'the options',
        `out of ${[...Object.keys(READ), ...Object.keys(FLAGS)].map((known) => `--${known}`).join(', ')}`,
        arg,
      );
  }
  // Who reads the steps by a program has not asked for a page.
  return { view: parsed['json'] === false, ...parsed } as unknown as Arguments;
}

function missing(option: string): never {
  throw unexpected(option, 'followed by a value', undefined);
}

function number(option: string, text: string, expectation: string, holds: (value: number) => boolean): number {
  const value = text.trim() === '' ? NaN : Number(text);
  check(option, text, expectation, holds(value));
  return value;
}

function check(option: string, text: string, expectation: string, holds: boolean): string {
  if (!holds) throw unexpected(option, expectation, text);
  return text;
}

function folder(option: string, path: string): string {
  return check(option, path, 'a folder', statSync(path, { throwIfNoEntry: false })?.isDirectory() === true);
}
