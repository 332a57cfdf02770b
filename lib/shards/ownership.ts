import { NEVER, type Observable } from 'rxjs';

/** What an event stream may know of the shards of its Controller. Without `config.shards` everything is owned, and nothing is acquired. */
export interface Ownership {
  /** Whether events for `id` are taken here: it is false as soon as the shard is to go. */
  readonly owns: (id: string) => boolean;
  /**
   * Emits the shards that have come, once `owns` says so; hot: those that were owned before the subscription are left out. It neither
   * completes nor errors.
   */
  readonly acquired: Observable<readonly number[]>;
  /** Emits the shards that are owned, at once and whenever that changes; {@link perShard} builds on it. It neither completes nor errors. */
  readonly owned: Observable<readonly number[]>;
}

/** That of a Controller without shards. */
export const everything: Ownership = { owns: () => true, acquired: NEVER, owned: NEVER };

/** What is known of an emission of `acquired`, by which those who list can tell what they have to list. */
export interface Acquisition {
  readonly shards: readonly number[];
  /** The shard of an id. */
  readonly shardOf: (id: string) => number;
  /** When it was, counted in acquisitions of this process. */
  readonly at: number;
}

/** Those that emit acquisitions, as streams are given them. */
const sources = new WeakSet();

/** `acquired` of a Controller with shards. */
export function acquiredOf(acquisitions: Observable<readonly number[]>): Observable<readonly number[]> {
  sources.add(acquisitions);
  return acquisitions;
}

/** Whether that is the `acquired` that a stream was given. */
export function isAcquired(input: object): boolean {
  return sources.has(input);
}

/** Weak, and by the emission, so that it survives whatever operators are between. */
const acquisitions = new WeakMap<object, Acquisition>();
let acquired = 0;

/** The number of the last acquisition. */
export function lastAcquisition(): number {
  return acquired;
}

/** Shards were acquired just now: what `acquired` is to emit. */
export function acquisition(shards: readonly number[], shardOf: (id: string) => number): readonly number[] {
  acquisitions.set(shards, { shards, shardOf, at: ++acquired });
  return shards;
}

/** What is known of a notification, if it is one of `acquired`. */
export function acquisitionOf(notification: unknown): Acquisition | undefined {
  return typeof notification === 'object' && notification !== null ? acquisitions.get(notification) : undefined;
}
