import { defaultHasher } from '../../operators/default-hasher.js';
import { check, checkId } from '../../operators/check.js';

/**
 * The shard that `id` belongs to, of `count` shards: that of {@link defaultHasher}, so that whoever sends messages can put
 * them where the owner of their id hears them.
 *
 * @returns an integer from 0 to `count - 1`
 * @throws TypeError if `id` is no non-empty string, or `count` no integer >= 1
 * @example
 * await jetstream.publish(`orders.${shardOf(order.id, 64)}`, body);
 */
export function shardOf(id: string, count: number): number {
  checkId('id', id);
  checkCount(count);
  return defaultHasher(id, count);
}

/** @throws TypeError if `count` cannot be a number of shards */
export function checkCount(count: unknown, most = Infinity, field = 'count'): void {
  const range = most === Infinity ? 'an integer >= 1' : `an integer from 1 to ${most}`;
  check(field, count, range, Number.isInteger(count) && (count as number) >= 1 && (count as number) <= most);
}
