import { svg } from './dom.js';
import { clock, duration } from './format.js';
import type { Marble, MarbleRow } from './marbles.js';
import { details } from './format.js';
import { lookOf } from './tone.js';

const HEIGHT = 104;
/** Where the axis is, and how big a marble. */
const [AXIS, RADIUS] = [50, 9];
/** How much room a time takes below the axis, and a letter above it, in px. */
const [ROOM, LETTER] = [62, 7];

/** Draws what {@link layOut} has laid out. */
export function drawing({ width, marbles, stretches, now, due }: MarbleRow, until: number | undefined, at: number): SVGSVGElement {
  const end = due ?? now;
  const parts: SVGElement[] = [svg('path', { class: 'm-axis', d: `M12 ${AXIS}h${end}` })];
  for (const { kind, from, to, tone } of stretches) {
    parts.push(svg('path', { class: kind === 'run' ? 'm-run' : 'm-wait', 'data-tone': tone, d: `M${from} ${AXIS}h${to - from}` }));
  }
  if (due !== undefined) parts.push(svg('path', { class: 'm-wait', 'data-tone': 'waiting', d: `M${now} ${AXIS}h${due - now}` }));
  for (const { kind, from, to, lasted, tone } of stretches) {
    const text = `${kind === 'run' ? 'ran' : 'waited'} ${duration(lasted)}`;
    if (to - from < text.length * LETTER) continue;
    parts.push(svg('text', { class: 'm-name', 'data-tone': tone, x: (from + to) / 2, y: AXIS - 18 }, text));
  }
  parts.push(svg('path', { class: 'm-now', d: `M${now} 18v${AXIS}` }), label(now, 12, 'now'));
  let free = -Infinity;
  for (const marble of marbles) {
    parts.push(drawn(marble));
    if (marble.x < free || now - marble.x < ROOM / 2) continue;
    parts.push(label(marble.x, AXIS + 34, clock(marble.step.at)));
    free = marble.x + ROOM;
  }
  if (now >= free) parts.push(label(now, AXIS + 34, clock(at)));
  if (due !== undefined && until !== undefined) {
    parts.push(svg('circle', { class: 'm-dot hollow', 'data-tone': 'waiting', cx: due, cy: AXIS, r: RADIUS - 2 }));
    parts.push(label(due, AXIS + 34, `in ${duration(until - at)}`));
  }
  const [first, last] = [marbles[0], marbles.at(-1)];
  const said =
    first === undefined || last === undefined
      ? 'No steps are remembered'
      : `${marbles.length} steps on a time axis, from ${clock(first.step.at)} to ${clock(last.step.at)}; the table below says the same`;
  return svg('svg', { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: 'img', 'aria-label': said }, ...parts);
}

/** A marble alone, for the table that says the same in words. */
export function marble(step: Marble['step']): SVGSVGElement {
  return svg('svg', { width: 20, height: 20, viewBox: '-10 -10 20 20', 'aria-hidden': 'true' }, ...body(step, 8));
}

function drawn({ x, step }: Marble): SVGElement {
  const text = [`${clock(step.at)} ${step.kind}`, details(step)].filter((part) => part !== '').join(', ');
  return svg('g', { transform: `translate(${x} ${AXIS})` }, svg('title', {}, text), ...body(step, RADIUS));
}

function body(step: Marble['step'], radius: number): SVGElement[] {
  const { tone, hollow, sign } = lookOf(step);
  const end = hollow ? ' hollow' : '';
  return [
    svg('circle', { class: `m-dot${end}`, 'data-tone': tone, r: radius }),
    svg('path', { class: `m-sign${end}`, 'data-tone': tone, d: `M0 0${sign}` }),
  ];
}

function label(x: number, y: number, text: string): SVGElement {
  return svg('text', { class: 'm-label', x, y }, text);
}
