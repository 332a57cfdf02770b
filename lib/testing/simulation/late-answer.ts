/** Says that the function `name` of a scenario answered by a promise. If that rejects, nobody else needs to know. */
export function lateAnswer(name: string, answer: PromiseLike<unknown>): string {
  answer.then(undefined, () => undefined);
  return `Expected ${name} to answer at once, got a promise: a simulation has no real time in which to wait for it`;
}
