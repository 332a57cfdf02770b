/**
 * Says that the members that are there have another number of shards: an id would belong to two at once. No retry can mend
 * that; with no member left, the next one may bring another number.
 */
export class ShardCountError extends Error {
  override readonly name = 'ShardCountError';

  constructor(name: string, theirs: number | string, ours: number) {
    super(`Expected \`count\` to be ${theirs}, which the members of the shards "${name}" have, got ${ours}: stop them all to change it`);
  }
}
