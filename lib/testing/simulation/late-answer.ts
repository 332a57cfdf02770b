import { isPromiseLike } from '../../../operators/observable-input.js';
import { shown } from '../../../operators/shown.js';
import { ScenarioError } from './failure.js';

/** Says that the function `name` of a scenario answered by a promise. If that rejects, nobody else needs to know. */
export function lateAnswer(name: string, answer: PromiseLike<unknown>): string {
  answer.then(undefined, () => undefined);
  return `Expected ${name} to answer at once, got a promise: a simulation has no real time in which to wait for it`;
}

/**
 * What the function `name` of a scenario has answered, at once and as it has to be.
 *
 * @throws ScenarioError if it is a promise, or not `expected`
 */
export function atOnce<T>(name: string, answer: T, expected = '', holds: (answer: T) => boolean = () => true): T {
  if (isPromiseLike(answer)) throw new ScenarioError(lateAnswer(name, answer));
  if (!holds(answer)) throw new ScenarioError(`Expected ${name} to answer ${expected}, got ${shown(answer)}`);
  return answer;
}
