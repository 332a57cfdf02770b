import type { Step } from 'kreconciler';
import { of } from 'rxjs';
import { expect, it } from 'vitest';
import { quiet } from '../../../examples/supervisor/quiet.js';

const base = { id: 'web', worker: 0, at: 0 };
const by = (stream: string) => ({ id: 'web', stream });
const enqueued = (stream: string): Step => ({ ...base, kind: 'enqueued', reason: 'event', trigger: by(stream) });
const started: Step = { ...base, kind: 'started', attempt: 1, reason: 'event', streams: [], waited: 0 };
const succeeded: Step = { ...base, kind: 'succeeded', attempt: 1, took: 1 };
const failed: Step = { ...base, kind: 'requeued', attempt: 1, took: 1, delay: 1, failure: 'thrown' };
const merged = (stream: string): Step => ({ ...base, kind: 'merged', trigger: by(stream) });
const CHANGES = 'changes';
type News = Step | typeof CHANGES;

function after(news: readonly News[]): Step[] {
  const status = { id: 'web', desired: 1, running: 0, pids: [], since: undefined, isChanging: true };
  const shown: Step[] = [];
  of(...news.map((step) => (step === CHANGES ? { status } : { step })))
    .pipe(quiet('resync'))
    .subscribe((step) => shown.push(step));
  return shown;
}

it.each<[string, News[], Step[]]>([
  ['a resync that changed nothing', [enqueued('resync'), started, succeeded], []],
  ['a resync that came while it ran', [enqueued('files'), started, merged('resync'), succeeded], [enqueued('files'), started, succeeded]],
])('should keep quiet about %s', (_, news, shown) => {
  expect(after(news)).toEqual(shown);
});

it.each<[string, News[]]>([
  ['a resync that changed something', [enqueued('resync'), started, CHANGES, succeeded]],
  ['a resync whose run failed', [enqueued('resync'), started, failed]],
  ['an event that came to it', [enqueued('resync'), merged('files'), started, succeeded]],
  ['a file that was edited', [enqueued('files'), started, succeeded]],
])('should show %s', (_, news) => {
  expect(after(news)).toEqual(news.filter((step) => step !== CHANGES));
});
