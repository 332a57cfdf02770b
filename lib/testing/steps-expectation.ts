import { type Observable, type SchedulerLike, Subscription } from 'rxjs';
import { check, checkObject } from '../../operators/check.js';
import { shown } from '../../operators/shown.js';
import type { Step } from '../../operators/types.js';
import { draw, Legend } from './diagram.js';
import { greatest, least } from './extremes.js';
import { type MarbleRow, parseRow } from './marble-row.js';

/** The kinds of steps, in the order in which a diagram shows them. */
export const KINDS = [
  'enqueued',
  'merged',
  'rejected',
  'started',
  'succeeded',
  'requeued',
  'dropped',
  'abandoned',
  'released',
  'paused',
  'resumed',
] as const satisfies readonly Step['kind'][];

/**
 * A row of marbles for each kind of step that is looked at. The row `ends` shows nothing but where the steps complete
 * (`---|`) or fail (`--#`); without it the other rows show that.
 */
export type StepRows = { readonly [K in Step['kind'] | 'ends']?: string };

type Values = { readonly frame: number; readonly symbol: string }[];

/** What is expected of steps, and how. */
export interface ExpectedSteps {
  readonly rows: StepRows;
  readonly ids?: Readonly<Record<string, string>> | undefined;
  /** Whether a kind without a row must not occur. */
  readonly exactly: boolean;
  /** From when to when, in ms; `Infinity` stands for the beginning and for never, as in a `TestScheduler`. */
  readonly subscription: { readonly subscribedFrame: number; readonly unsubscribedFrame: number };
}

/** What a stream of steps is expected to be, and what it was. */
export class StepsExpectation {
  /** How many frames the longest row takes. */
  readonly length: number;
  /** The given rows first, then, if no other kind may occur, those of the others: they are empty. */
  readonly #wanted: ReadonlyMap<string, Values>;
  readonly #given: StepRows;
  readonly #ids: Readonly<Record<string, string>>;
  readonly #end: MarbleRow['end'];
  readonly #actual: ReadonlyMap<string, Values>;
  /** What runs, once time has ended. */
  readonly #running = new Set<string>();
  #actualEnd: MarbleRow['end'];
  #error: unknown;

  constructor(
    steps: Observable<Step>,
    scheduler: SchedulerLike,
    { rows, ids = {}, exactly, subscription: { subscribedFrame, unsubscribedFrame } }: ExpectedSteps,
  ) {
    checkObject('rows', rows);
    const others = exactly ? [...KINDS, 'ends' as const].filter((kind) => !Object.hasOwn(rows, kind)) : [];
    check('rows', rows, 'an object with at least one row', exactly || Object.keys(rows).length > 0);
    this.#given = rows;
    this.#ids = ids;
    const all = new Map(
      [...Object.entries(rows), ...others.map((kind) => [kind, ''] as const)].map(([kind, row]) => [kind, rowOf(kind, row)]),
    );
    this.#wanted = new Map(
      [...all].map(([kind, { values }]) => [kind, values.map(({ frame, symbol }) => ({ frame, symbol: ids[symbol] ?? symbol }))]),
    );
    this.#end = commonEnd(all);
    this.length = greatest([0, ...[...all.values()].map((row) => row.length)]);
    this.#actual = new Map([...all.keys()].map((kind) => [kind, []]));
    const end = (symbol: '|' | '#', error?: unknown): void => {
      this.#actualEnd = { frame: scheduler.now(), symbol };
      this.#error = error;
    };
    const subscription = new Subscription();
    // As `expectObservable` does it: the subscription is the first thing that happens in its frame, and its end likewise.
    scheduler.schedule(
      () => {
        subscription.add(
          steps.subscribe({
            next: ({ kind, id }) => {
              this.#actual.get(kind)?.push({ frame: scheduler.now(), symbol: id });
              if (kind === 'started') this.#running.add(id);
              else if (kind === 'succeeded' || kind === 'requeued' || kind === 'dropped') this.#running.delete(id);
            },
            error: (error: unknown) => {
              end('#', error);
            },
            complete: () => {
              end('|');
            },
          }),
        );
      },
      subscribedFrame === Infinity ? 0 : subscribedFrame,
    );
    if (unsubscribedFrame !== Infinity)
      scheduler.schedule(() => {
        subscription.unsubscribe();
      }, unsubscribedFrame);
  }

  /** @throws Error that shows both diagrams, if they differ */
  check(): void {
    const differing = [...this.#wanted].map(([kind, values]) => firstDifference(values, this.#actual.get(kind) as Values));
    const first = least([...differing, differingEnd(this.#end, this.#actualEnd)]);
    if (first !== Infinity) throw new Error(this.#comparison(first));
  }

  /** Both diagrams, with a mark at the first frame that differs. */
  #comparison(first: number): string {
    const [wanted, seen] = [this.#wanted, this.#actual];
    const ends = [this.#end, this.#actualEnd];
    const occurs = (kind: string): boolean => (kind === 'ends' ? ends.some((end) => end !== undefined) : seen.get(kind)?.length !== 0);
    const kinds = [...wanted.keys()].filter((kind) => Object.hasOwn(this.#given, kind) || occurs(kind));
    const legend = new Legend(this.#ids).announce([...wanted.values(), ...seen.values()].flat().map(({ symbol }) => symbol));
    const rows = [wanted, seen].flatMap((values, i) =>
      kinds.map((kind) => ({
        values: (values.get(kind) as Values).map(({ frame, symbol }) => ({ frame, symbol: legend.symbolOf(symbol) })),
        end: kind === 'ends' || !wanted.has('ends') ? ends[i] : undefined,
      })),
    );
    const diagram = draw(rows);
    const margin = greatest(kinds.map((kind) => kind.length)) + 2;
    const named = (lines: readonly string[]): string[] => lines.map((line, i) => `${(kinds[i] ?? '').padEnd(margin)}${line}`.trimEnd());
    return [
      'Expected the steps',
      ...named(diagram.lines.slice(0, kinds.length)),
      'but they were',
      ...named(diagram.lines.slice(kinds.length)),
      `${' '.repeat(margin + diagram.columnOf(first))}^ first difference, at ${String(first)} ms`,
      ...(legend.toString() === '' ? [] : [`where ${legend.toString()}`]),
      ...(this.#actualEnd?.symbol === '#' ? [`# = ${String(this.#error)}`] : []),
      ...(this.#running.size === 0
        ? []
        : [`${[...this.#running].join(', ')} still ran when time ended; for what takes a promise there is \`virtualTime\``]),
    ].join('\n');
  }
}

function rowOf(kind: string, row: string): MarbleRow {
  const names: readonly string[] = [...KINDS, 'ends'];
  check('rows', kind, `named after kinds of steps (${KINDS.join(', ')}), or \`ends\``, names.includes(kind));
  const parsed = parseRow(kind, row);
  const [value] = kind === 'ends' ? parsed.values : [];
  if (value !== undefined)
    throw new TypeError(`Expected the row \`ends\` to have no marbles but \`|\` or \`#\`, got ${shown(value.symbol)}`);
  return parsed;
}

/** There is one stream, so there is one end: the rows that show it must mean the same, and none may go on after it. */
function commonEnd(rows: ReadonlyMap<string, MarbleRow>): MarbleRow['end'] {
  let common: { kind: string; end: NonNullable<MarbleRow['end']> } | undefined;
  for (const [kind, { end }] of rows) {
    if (end === undefined) continue;
    common ??= { kind, end };
    if (common.end.frame !== end.frame || common.end.symbol !== end.symbol) {
      throw new TypeError(
        `Expected all rows to end alike, got ${described(common.end)} in \`${common.kind}\` and ${described(end)} in \`${kind}\``,
      );
    }
  }
  if (common === undefined) return undefined;
  for (const [kind, { values }] of rows) {
    const late = values.find(({ frame }) => frame > common.end.frame);
    if (late === undefined) continue;
    throw new TypeError(
      `Expected nothing after ${described(common.end)} in \`${common.kind}\`, got ${shown(late.symbol)} at ${String(late.frame)} ms in \`${kind}\``,
    );
  }
  return common.end;
}

function described({ frame, symbol }: NonNullable<MarbleRow['end']>): string {
  return `\`${symbol}\` at ${String(frame)} ms`;
}

function firstDifference(wanted: Values, seen: Values): number {
  for (let i = 0; i < Math.max(wanted.length, seen.length); i++) {
    const [a, b] = [wanted[i], seen[i]];
    if (a?.frame !== b?.frame || a?.symbol !== b?.symbol) return Math.min(a?.frame ?? Infinity, b?.frame ?? Infinity);
  }
  return Infinity;
}

function differingEnd(wanted: MarbleRow['end'], seen: MarbleRow['end']): number {
  if (wanted?.frame === seen?.frame && wanted?.symbol === seen?.symbol) return Infinity;
  return Math.min(wanted?.frame ?? Infinity, seen?.frame ?? Infinity);
}
