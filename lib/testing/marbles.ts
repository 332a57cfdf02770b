import { isDeepStrictEqual } from 'node:util';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { checkFunction } from '../../operators/check.js';
import type { Step } from '../../operators/types.js';
import { compareNotifications, type Frame } from './compare-notifications.js';
import { type StepRows, StepsExpectation } from './steps-expectation.js';
import { lengthOf } from './marble-row.js';

type RunHelpers = Parameters<Parameters<TestScheduler['run']>[0]>[0];

/** How long a body without step rows may go on after its longest row, in ms, before its source counts as endless. */
const OVERTIME = 60_000;

/** What {@link marbles} gives to its body: the helpers of `TestScheduler.run`, and `expectSteps`. */
export interface Marbles extends RunHelpers {
  /** The virtual time, for `config.scheduler`. */
  readonly scheduler: TestScheduler;
  /**
   * Expects steps, one row a kind; the marbles are ids, or stand for ids by `ids`. The row `ends` shows where they
   * complete or fail. With `toBe` kinds without a row are not looked at; with `toBeExactly` they must not occur.
   * `subscription` says when the steps are subscribed to, and until when, as in `expectObservable`: `'--^---!'`.
   *
   * @example
   * expectSteps(steps$).toBe({
   *   enqueued: 'a-b',
   *   started: ' a-b',
   * });
   * expectSteps(steps$).toBeExactly({
   *   enqueued: ' a-b',
   *   started: '  a-b',
   *   succeeded: 'a-b',
   *   ends: '     ---|',
   * });
   */
  readonly expectSteps: (steps: Observable<Step>, subscription?: string) => StepsAssertion;
}

/** What can be expected of steps. */
export interface StepsAssertion {
  /** Expects the steps of these kinds, each at its moment. */
  readonly toBe: (rows: StepRows, ids?: Readonly<Record<string, string>>) => void;
  /** Expects these steps and no others, up to the end of the longest row of the test. */
  readonly toBeExactly: (rows: StepRows, ids?: Readonly<Record<string, string>>) => void;
}

/**
 * A test function whose time is virtual and whose expectations are marbles: `body` runs in a `TestScheduler`.
 *
 * The time ends with the longest row, so that a loop that requeues for ever ends as well. (A body without `expectSteps`
 * sees everything that comes later too, unless it never ends.) A failing expectation shows both diagrams under each
 * other and marks the first frame that differs. 1 frame is 1 ms.
 *
 * @throws Error if an expectation fails
 * @throws TypeError if a row cannot be read, or if `body` is asynchronous: promises are for {@link virtualTime}
 * @example
 * it('should retry', marbles(({ hot, scheduler, expectSteps }) => {
 *   const events$ = hot('  a');
 *   expectSteps(events$.pipe(reconcile(() => { throw new Error('no'); }, { scheduler }))).toBe({
 *     started: '          a 249ms a',
 *     requeued: '         a 249ms a',
 *   });
 * }));
 */
export function marbles(body: (marbles: Marbles) => void): () => void {
  checkFunction('body', body);
  return () => {
    let longest = 0;
    const measured = <T extends unknown[]>(row: string | null | undefined, ...rest: T): T => {
      longest = Math.max(longest, lengthOf(row ?? ''));
      return rest;
    };
    const expectations: StepsExpectation[] = [];
    const scheduler = new TestScheduler((actual: unknown, expected: unknown) => {
      const isEndless = scheduler.actions.length > 0;
      const seen = isEndless ? (actual as Frame[]).filter(({ frame }) => !(frame >= longest)) : actual;
      if (!isDeepStrictEqual(seen, expected)) throw new Error(compareNotifications(seen as Frame[], expected as Frame[]));
    });
    scheduler.run((helpers) => {
      const { hot, cold, expectObservable, expectSubscriptions, flush } = helpers;
      /** Frames 0 to `longest - 1` are on the longest row. */
      const limit = (): void => {
        scheduler.maxFrames = Math.max(longest - 1, 0) + (expectations.length > 0 ? 0 : OVERTIME);
      };
      // eslint-disable-next-line @typescript-eslint/no-confusing-void-expression -- an async function is refused by name
      const answer: unknown = body({
        ...helpers,
        scheduler,
        hot: (row: string, ...rest: []) => hot(row, ...measured(row, ...rest)),
        cold: ((row: string, ...rest: []) => cold(row, ...measured(row, ...rest))) as typeof cold,
        expectObservable: (source: Observable<unknown>, subscription?: string) => {
          const expectation = expectObservable(source, ...([subscription, ...measured(subscription)] as [string]));
          return {
            ...expectation,
            toBe: (row: string, ...rest: []) => {
              expectation.toBe(row, ...measured(row, ...rest));
            },
          };
        },
        expectSubscriptions: (logs) => ({
          toBe: (rows) => {
            for (const row of [rows].flat()) measured(row);
            expectSubscriptions(logs).toBe(rows);
          },
        }),
        flush: () => {
          limit();
          flush();
          for (const expectation of expectations.splice(0)) expectation.check();
        },
        expectSteps: (steps, subscription) => {
          measured(subscription);
          const log = TestScheduler.parseMarblesAsSubscriptions(subscription ?? null, true);
          const expectation = (exactly: boolean) => (rows: StepRows, ids?: Readonly<Record<string, string>>) => {
            const added = new StepsExpectation(steps, scheduler, { rows, ids, exactly, subscription: log });
            longest = Math.max(longest, added.length);
            expectations.push(added);
          };
          return { toBe: expectation(false), toBeExactly: expectation(true) };
        },
      });
      if (answer !== undefined)
        throw new TypeError('Expected the body of `marbles` to return nothing: a TestScheduler cannot see promises, use `virtualTime`');
      limit();
    });
    for (const expectation of expectations) expectation.check();
  };
}
