import type { SchedulerLike } from 'rxjs';
import { isObservableInput } from './observable-input.js';
import { shown } from './shown.js';

/*
 * How arguments are checked, when a function is called. Each throws a TypeError that names the field, what was expected and what
 * came: ``Expected `workerCount` to be an integer >= 1, got `0` (number)``.
 */

/** Checks what none of the others does. */
export function check(field: string, value: unknown, expectation: string, holds: boolean): void {
  if (!holds) throw new TypeError(`Expected \`${field}\` to be ${expectation}, got ${shown(value)}`);
}

/** An object, as a configuration has to be before its fields are read. */
export function checkObject(field: string, value: unknown): void {
  check(field, value, 'an object', typeof value === 'object' && value !== null);
}

export function checkFunction(field: string, value: unknown): void {
  check(field, value, 'a function', typeof value === 'function');
}

/** What can be subscribed to. */
export function checkObservableInput(field: string, value: unknown): void {
  check(field, value, 'an Observable, promise or iterable', isObservableInput(value));
}

/** Something with the two methods of a `SchedulerLike`. */
export function checkScheduler(field: string, value: unknown): void {
  const { schedule, now } = (value ?? {}) as Partial<SchedulerLike>;
  check(field, value, 'a scheduler', typeof schedule === 'function' && typeof now === 'function');
}

/** A name that may be left out. */
export function checkName(field: string, value: unknown): void {
  check(field, value, 'a string', value === undefined || typeof value === 'string');
}

/** A size of at least `least`, or Infinity. */
export function checkSize(field: string, value: unknown, least: number): void {
  const isSize = value === Infinity || (Number.isInteger(value) && (value as number) >= least);
  check(field, value, `an integer >= ${String(least)} or Infinity`, isSize);
}

/** A share of a whole. */
export function checkShare(field: string, value: unknown): void {
  check(field, value, 'a number from 0 to 1', isDelay(value) && value <= 1);
}

/** Whether `value` is a number of ms that can be waited for: finite and >= 0. */
export function isDelay(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < Infinity;
}

/** A time in ms that passes. */
export function checkDelay(field: string, value: unknown): void {
  check(field, value, 'a finite number of ms >= 0', isDelay(value));
}

/** A time in ms, or Infinity for one that never comes. */
export function checkDuration(field: string, value: unknown): void {
  check(field, value, 'a number of ms >= 0', isDelay(value) || value === Infinity);
}

/** As {@link checkDuration}, but more than nothing. */
export function checkTimeout(field: string, value: unknown): void {
  check(field, value, 'a number of ms > 0', value === Infinity || (isDelay(value) && value > 0));
}

/** A time in ms that is more than nothing, and at most `longest`. */
export function checkInterval(field: string, value: unknown, longest = Infinity): void {
  check(field, value, 'a finite number of ms > 0', isDelay(value) && value > 0);
  check(field, value, `at most ${String(longest)} ms`, (value as number) <= longest);
}

/** The id of something. */
export function checkId(field: string, value: unknown): void {
  check(field, value, 'a non-empty string', typeof value === 'string' && value !== '');
}

/** A signal that may be left out. */
export function checkSignal(field: string, value: unknown): void {
  const { aborted, addEventListener } = Object(value) as Partial<AbortSignal>;
  check(field, value, 'an AbortSignal', value === undefined || (typeof aborted === 'boolean' && typeof addEventListener === 'function'));
}
