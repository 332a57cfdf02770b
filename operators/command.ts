import { check, checkObject } from './check.js';

/**
 * What an operator says to a loop, by `config.commands`: `pause` and `resume` one id, or without an id the whole loop; `discard` what an id
 * still has to do. The loop's pause and an id's are two, and each is lifted by its own command.
 *
 * A pause belongs to the process: no other replica knows it, nor the next start. One that is to last comes from a store that all hear.
 *
 * @example
 * const command: Command = { kind: 'pause', id: 'web', why: 'moving house' };
 */
export type Command =
  | { readonly kind: 'pause' | 'resume'; readonly id?: string | undefined; readonly why?: string | undefined }
  | { readonly kind: 'discard'; readonly id: string };

/** @throws TypeError that names what is wrong with `value`, or whatever reading it throws */
export function checkCommand(value: unknown): asserts value is Command {
  checkObject('command', value);
  const { kind, id, why } = value as { readonly kind?: unknown; readonly id?: unknown; readonly why?: unknown };
  check('kind', kind, "'pause', 'resume' or 'discard'", kind === 'pause' || kind === 'resume' || kind === 'discard');
  const isId = typeof id === 'string' && id !== '';
  check(
    'id',
    id,
    kind === 'discard' ? 'a non-empty string' : 'a non-empty string or undefined',
    isId || (id === undefined && kind !== 'discard'),
  );
  check('why', why, 'a string or undefined', why === undefined || typeof why === 'string');
}
