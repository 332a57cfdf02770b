import { check } from '../../operators/check.js';
import { isObservableLike } from '../../operators/observable-input.js';
import type { Holding } from './shards.js';

/** @throws TypeError if `holding` is not what a source of `count` shards may emit; the message names the field */
export function checkHolding(holding: unknown, count: number): asserts holding is Holding {
  check('holding', holding, 'an Observable', isObservableLike(holding));
  const { shard, term } = holding as Holding;
  check('holding.shard', shard, `an integer from 0 to ${count - 1}`, Number.isInteger(shard) && shard >= 0 && shard < count);
  check('holding.term', term, 'a number', typeof term === 'number');
}
