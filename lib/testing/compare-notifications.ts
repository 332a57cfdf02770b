import { inspect, isDeepStrictEqual } from 'node:util';
import { draw, Legend } from './diagram.js';
import { least } from './extremes.js';
import type { MarbleRow } from './marble-row.js';

/** What a `TestScheduler` compares: notifications and their frames, or, where subscriptions are expected, two frames. */
export interface Frame {
  readonly frame: number;
  readonly notification: { readonly kind: 'N' | 'E' | 'C'; readonly value?: unknown; readonly error?: unknown };
}
interface Subscribed {
  readonly subscribedFrame: number;
  readonly unsubscribedFrame: number;
}

/** Says how `actual` differs from `expected`: both as diagrams under each other, with a mark at the first difference. */
export function compareNotifications(actual: readonly Frame[], expected: readonly Frame[]): string {
  const all = [expected, actual];
  if (all.flat().some((frame) => !('notification' in frame))) return compareSubscriptions(all as unknown as Subscribed[][]);
  const legend = new Legend().announce(
    all.flat().flatMap(({ notification }) => (notification.kind === 'N' ? [textOf(notification.value)] : [])),
  );
  const differing = least(
    indexes(all).map((i) => (isDeepStrictEqual(expected[i], actual[i]) ? Infinity : earliest(expected[i]?.frame, actual[i]?.frame))),
  );
  const diagram = draw(all.map((frames) => rowOf(frames, legend)));
  const errors = all.map((frames) => frames.find(({ notification }) => notification.kind === 'E'));
  return [
    `Expected  ${diagram.lines[0] ?? ''}`,
    `but got   ${diagram.lines[1] ?? ''}`,
    `          ${' '.repeat(diagram.columnOf(differing))}^ first difference, at ${String(differing)} ms`,
    ...(legend.toString() === '' ? [] : [`where ${legend.toString()}`]),
    ...errors.flatMap((frame, i) =>
      frame === undefined ? [] : [`${i === 0 ? 'expected' : 'actual'} # = ${String(frame.notification.error)}`],
    ),
  ].join('\n');
}

function rowOf(frames: readonly Frame[], legend: Legend): Pick<MarbleRow, 'values' | 'end'> {
  const last = frames.find(({ notification }) => notification.kind !== 'N');
  return {
    values: frames.flatMap(({ frame, notification }) =>
      notification.kind === 'N' ? [{ frame, symbol: legend.symbolOf(textOf(notification.value)) }] : [],
    ),
    end: last === undefined ? undefined : { frame: last.frame, symbol: last.notification.kind === 'C' ? '|' : '#' },
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : inspect(value, { breakLength: Infinity });
}

function compareSubscriptions(logs: Subscribed[][]): string {
  const [expected = [], actual = []] = logs;
  const { lines, columnOf } = draw(
    logs.flat().map(({ subscribedFrame, unsubscribedFrame }) => ({
      values: [
        { frame: subscribedFrame, symbol: '^' },
        ...(unsubscribedFrame === Infinity ? [] : [{ frame: unsubscribedFrame, symbol: '!' }]),
      ],
    })),
  );
  const differing = least(
    indexes(logs).flatMap((i) => {
      const [a, b] = [expected[i], actual[i]];
      return [
        a?.subscribedFrame === b?.subscribedFrame ? Infinity : earliest(a?.subscribedFrame, b?.subscribedFrame),
        a?.unsubscribedFrame === b?.unsubscribedFrame ? Infinity : earliest(a?.unsubscribedFrame, b?.unsubscribedFrame),
      ];
    }),
  );
  const indented = lines.map((line) => `  ${line}`);
  return [
    'Expected the subscriptions',
    ...indented.slice(0, expected.length),
    'but they were',
    ...indented.slice(expected.length),
    `  ${' '.repeat(columnOf(differing))}^ first difference, at ${String(differing)} ms`,
  ].join('\n');
}

function indexes([a = [], b = []]: (readonly unknown[])[]): number[] {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, i) => i);
}

function earliest(a = Infinity, b = Infinity): number {
  return Math.min(a, b);
}
