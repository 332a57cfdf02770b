import type { Step } from 'kreconciler';
import { ignoreElements, interval, map, merge, type Observable, scan, tap } from 'rxjs';
import type { Logs } from './logs.js';
import type { Death } from './os-processes.js';
import { nameOf } from './ports.js';
import { describe, stepToJson } from './print.js';
import { quiet } from './quiet.js';
import type { Status } from './reconciler.js';
import type { Screen } from './screen.js';
import { follow, type News, type Rows } from './table.js';

/** How often, in ms, it is looked for what processes have printed. */
const LOOK = 200;
const SECOND = 1000;

export interface OutputConfig {
  readonly steps: Observable<Step>;
  readonly statuses: Observable<Status>;
  readonly deaths: Observable<Death>;
  readonly logs: Logs;
  readonly screen: Screen;
}

/** While subscribed to, shows people what happens: a line a step, a death, and a line that a process prints; and the table. */
export function lines({ steps, statuses, deaths, logs, screen }: OutputConfig): Observable<never> {
  const rows$ = merge(
    steps.pipe(map((step) => ({ step }))),
    statuses.pipe(map((status) => ({ status }))),
    deaths.pipe(map(({ process }) => ({ death: process }))),
  ).pipe(scan<News, Rows>(follow, new Map()));
  const news$ = merge(steps.pipe(map((step) => ({ step }))), statuses.pipe(map((status) => ({ status }))));
  return merge(
    news$.pipe(
      quiet('resync'),
      tap((step) => screen.print(describe(step))),
    ),
    // Uptimes grow though nothing happens.
    interval(SECOND).pipe(tap(() => screen.refresh())),
    deaths.pipe(tap(({ process }) => screen.print(`${nameOf(process)} ${process.ending?.how ?? 'ended'}`))),
    rows$.pipe(tap((rows) => screen.table(rows))),
    interval(LOOK).pipe(tap(() => screen.show(logs.read()))),
  ).pipe(ignoreElements());
}

/** While subscribed to, prints each step for programs, and nothing else. */
export function json({ steps, logs }: Pick<OutputConfig, 'steps' | 'logs'>): Observable<never> {
  return merge(
    steps.pipe(tap((step) => process.stdout.write(`${stepToJson(step)}\n`))),
    // Nobody is shown them, but who reads them also cuts them off.
    interval(LOOK).pipe(tap(() => logs.read())),
  ).pipe(ignoreElements());
}
