import type { Observable, SchedulerLike } from 'rxjs';
import { expected, shown } from '../../operators/expected.js';
import type { Step } from '../../operators/types.js';
import { draw, Legend } from './diagram.js';
import { type MarbleRow, parseRow } from './marble-row.js';

/** The kinds of steps, in the order in which a diagram shows them. */
export const KINDS = ['enqueued', 'merged', 'rejected', 'started', 'succeeded', 'requeued', 'dropped', 'abandoned', 'released'] as const satisfies readonly Step['kind'][];

/** A row of marbles for each kind of step that is looked at. */
export type StepRows = { readonly [K in Step['kind']]?: string };

type Values = { readonly frame: number; readonly symbol: string }[];

/** What a stream of steps is expected to be, and what it was. */
export class StepsExpectation {
  /** How many frames the longest row takes. */
  readonly length: number;
  readonly #rows: ReadonlyMap<string, MarbleRow>;
  readonly #end: MarbleRow['end'];
  readonly #actual: ReadonlyMap<string, Values>;
  #actualEnd: MarbleRow['end'];
  #error: unknown;

  constructor(
    steps: Observable<Step>,
    scheduler: SchedulerLike,
    rows: StepRows,
    readonly ids: Readonly<Record<string, string>> = {},
  ) {
    this.#rows = new Map(Object.entries(rows).map(([kind, row]) => [kind, rowOf(kind, row)]));
    this.#end = commonEnd(this.#rows);
    this.length = Math.max(0, ...[...this.#rows.values()].map((row) => row.length));
    this.#actual = new Map([...this.#rows.keys()].map((kind) => [kind, []]));
    const end = (symbol: '|' | '#', error?: unknown): void => {
      this.#actualEnd = { frame: scheduler.now(), symbol };
      this.#error = error;
    };
    // As `expectObservable` does it: the subscription is the first thing that happens.
    scheduler.schedule(() => {
      steps.subscribe({
        next: ({ kind, id }) => {
          this.#actual.get(kind)?.push({ frame: scheduler.now(), symbol: id });
        },
        error: (error: unknown) => {
          end('#', error);
        },
        complete: () => {
          end('|');
        },
      });
    });
  }

  /** @throws Error that shows both diagrams, if they differ */
  check(): void {
    const idOf = (symbol: string): string => this.ids[symbol] ?? symbol;
    const wanted = [...this.#rows.values()].map(({ values }) => values.map(({ frame, symbol }) => ({ frame, symbol: idOf(symbol) })));
    const seen = [...this.#actual.values()];
    const differing = [...wanted.map((row, i) => firstDifference(row, seen[i] as Values)), differingEnd(this.#end, this.#actualEnd)];
    const first = Math.min(...differing);
    if (first === Infinity) return;
    const legend = new Legend(this.ids).announce([...wanted, ...seen].flat().map(({ symbol }) => symbol));
    const withEnd = (end: MarbleRow['end']) => (values: Values) => ({
      values: values.map(({ frame, symbol }) => ({ frame, symbol: legend.symbolOf(symbol) })),
      end,
    });
    const diagram = draw([...wanted.map(withEnd(this.#end)), ...seen.map(withEnd(this.#actualEnd))]);
    const kinds = [...this.#rows.keys()];
    const margin = Math.max(...kinds.map((kind) => kind.length)) + 2;
    const named = (lines: readonly string[]): string[] => lines.map((line, i) => `${(kinds[i] ?? '').padEnd(margin)}${line}`.trimEnd());
    throw new Error(
      [
        'Expected the steps',
        ...named(diagram.lines.slice(0, kinds.length)),
        'but they were',
        ...named(diagram.lines.slice(kinds.length)),
        `${' '.repeat(margin + diagram.columnOf(first))}^ first difference, at ${String(first)} ms`,
        ...(legend.toString() === '' ? [] : [`where ${legend.toString()}`]),
        ...(this.#actualEnd?.symbol === '#' ? [`# = ${String(this.#error)}`] : []),
      ].join('\n'),
    );
  }
}

function rowOf(kind: string, row: string): MarbleRow {
  expected('rows', kind, `named after kinds of steps (${KINDS.join(', ')})`, (KINDS as readonly string[]).includes(kind));
  return parseRow(kind, row);
}

/** There is one stream, so there is one end: the rows that show it must mean the same, and none may go on after it. */
function commonEnd(rows: ReadonlyMap<string, MarbleRow>): MarbleRow['end'] {
  let common: { kind: string; end: NonNullable<MarbleRow['end']> } | undefined;
  for (const [kind, { end }] of rows) {
    if (end === undefined) continue;
    common ??= { kind, end };
    if (common.end.frame !== end.frame || common.end.symbol !== end.symbol) {
      throw new TypeError(`Expected all rows to end alike, got ${described(common.end)} in \`${common.kind}\` and ${described(end)} in \`${kind}\``);
    }
  }
  if (common === undefined) return undefined;
  for (const [kind, { values }] of rows) {
    const late = values.find(({ frame }) => frame > common.end.frame);
    if (late === undefined) continue;
    throw new TypeError(`Expected nothing after ${described(common.end)} in \`${common.kind}\`, got ${shown(late.symbol)} at ${String(late.frame)} ms in \`${kind}\``);
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
