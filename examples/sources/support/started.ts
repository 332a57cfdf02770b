import { parseArgs } from 'node:util';

/**
 * Prints `usage` and exits where `--help` is asked for; else returns what makes a signal that aborts at the first SIGINT or
 * SIGTERM, or `--for` seconds after it was made.
 *
 * @throws TypeError if `--for` is no number of seconds
 */
export function started(usage: string): () => AbortSignal {
  const { values } = parseArgs({ options: { for: { type: 'string' }, help: { type: 'boolean', short: 'h' } } });
  if (values.help === true) {
    console.log(`${usage.trim()}\n\n  --for SECONDS   stop after that time (default: at Ctrl-C)\n  --help          show this`);
    process.exit(0);
  }
  const seconds = Number(values.for ?? Infinity);
  if (!(seconds > 0)) throw new TypeError(`Expected \`--for\` to be a number of seconds > 0, got \`${String(values.for)}\``);
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  process.once('SIGTERM', () => stop.abort());
  return () => {
    if (seconds < Infinity) setTimeout(() => stop.abort(), seconds * 1_000).unref();
    return stop.signal;
  };
}
