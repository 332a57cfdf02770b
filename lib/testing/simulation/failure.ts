/** How a simulated run went wrong. Two failures of the same `what` count as the same one. */
export interface ScenarioFailure {
  readonly what: string;
  /** When, in ms of virtual time. */
  readonly at: number;
  /** What was thrown, if something was. */
  readonly error?: unknown;
}

/** The scenario itself is wrong, and no schedule is to blame. */
export class ScenarioError extends Error {
  override readonly name = 'ScenarioError';
}
