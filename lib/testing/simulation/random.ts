import type { Random } from './scenario.js';

/** Chance from a seed (mulberry32): small, fast, and good enough to shuffle faults. */
export function randomFrom(seed: number): Random {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) | 0;
  return () => {
    state = nextState(state);
    return (mixed(state) >>> 0) / 2 ** 32;
  };
}

/** The state after `state`; what it brings is {@link mixed} of it. */
export function nextState(state: number): number {
  return (state + 0x6d2b79f5) | 0;
}

/** 32 bits, as a signed integer. */
export function mixed(state: number): number {
  let bits = Math.imul(state ^ (state >>> 15), 1 | state);
  bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
  return bits ^ (bits >>> 14);
}

/** An integer from `least` to `most`. */
export function integer(random: Random, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1));
}

/** One of `items`, which must not be empty. */
export function oneOf<T>(random: Random, items: readonly T[]): T {
  return items[Math.floor(random() * items.length)] as T;
}

/** Some ms: each order of magnitude up to `most` is as likely as the others. */
export function span(random: Random, most: number): number {
  return Math.floor(most ** random());
}
