import type { Step } from 'kreconciler/operators';
import type { WorkqueueConfig } from '../../operators/workqueue.js';

type Phase = 'idle' | 'enqueued' | 'started' | 'requeued';

class Life {
  phase: Phase = 'idle';
  abandoned = false;
  dirty = false;
  byEvent = false;
  attempt = 0;
  notBefore = -Infinity;
  due = -Infinity;
}

/**
 * Reads what one lane said, step by step, and says which laws it broke. It knows the accounting and the bounds only, and so
 * can neither share a mistake with the workqueue nor with the model of it. `ended`: everything has settled.
 * `isPlain`: no event was forced, nothing was paused.
 */
export function brokenLaws(steps: readonly Step[], config: WorkqueueConfig, ended: boolean, concurrency = 1, isPlain = true): string[] {
  const lives = new Map<string, Life>();
  const triggers = new Set<unknown>();
  const broken: string[] = [];
  const all = () => [...lives.values()];
  for (const step of steps) {
    const life = lives.get(step.id) ?? new Life();
    lives.set(step.id, life);
    const { phase } = life;
    const law = (name: string, holds: boolean) => {
      if (!holds) broken.push(`${name}: ${step.kind} ${step.id} at ${step.at}, which was ${phase}`);
    };
    const isEvent = step.kind === 'merged' || step.kind === 'rejected' || (step.kind === 'enqueued' && step.trigger !== undefined);
    law('A1: a trigger is on the step of its event alone', (step.trigger !== undefined) === isEvent && !triggers.has(step.trigger));
    if (step.trigger !== undefined) triggers.add(step.trigger);
    switch (step.kind) {
      case 'enqueued':
        law('A2: enqueued twice, or during its run', phase === 'idle' || phase === 'requeued');
        law('S1: enqueued while its promise is open', !life.abandoned || step.trigger === undefined);
        if (phase === 'requeued' && step.reason !== 'event') law('T1: a delay is a lower bound', step.at >= life.due);
        life.phase = 'enqueued';
        life.byEvent = step.trigger !== undefined;
        law(
          'Q1: ready by event',
          !isPlain || all().filter((other) => other.phase === 'enqueued' && other.byEvent).length <= config.workerQueueSize,
        );
        break;
      case 'merged':
        life.dirty ||= phase === 'started';
        break;
      case 'rejected':
        law('Q1: refused though it was there', !isPlain || phase === 'idle' || phase === 'requeued');
        law(
          'Q1: refused though there was room',
          !isPlain || all().filter((other) => other.phase === 'enqueued' && other.byEvent).length >= config.workerQueueSize,
        );
        break;
      case 'started':
        law('A2: started, but not enqueued', phase === 'enqueued');
        law('S1: two runs', all().filter((other) => other.phase === 'started').length < concurrency);
        law('S1: started while its promise is open', !life.abandoned);
        law('E1: too soon after a failure', !isPlain || step.at >= life.notBefore);
        law('R3, R4: an attempt too far', step.attempt <= life.attempt + 1);
        Object.assign(life, { phase: 'started', dirty: false, attempt: step.attempt });
        break;
      case 'succeeded':
        law('A3: succeeded, but not started', phase === 'started');
        Object.assign(life, { phase: 'idle', attempt: 0, notBefore: -Infinity });
        break;
      case 'requeued':
        law('A3: requeued, but not started', phase === 'started');
        Object.assign(life, { phase: 'requeued', due: step.at + step.delay });
        law(
          'Q3: waiting',
          step.failure === 'superseded' || all().filter((other) => other.phase === 'requeued').length <= config.delayQueueSize,
        );
        if (step.failure === undefined) life.attempt = 0;
        else life.notBefore = step.at + config.delayResolution;
        break;
      case 'dropped':
        if (phase === 'started') law('A3: a run that ended says how long it took', step.took !== undefined);
        else
          law(
            'A2, A4: only a stop, a move or a command drops what did not run',
            phase !== 'idle' && isGivenUp(step.reason) && step.took === undefined,
          );
        if (step.reason === 'delay_queue_full')
          law('Q3: dropped though there was room', all().filter((other) => other.phase === 'requeued').length >= config.delayQueueSize);
        life.notBefore = phase === 'started' && life.dirty && !isGivenUp(step.reason) ? step.at + config.delayResolution : -Infinity;
        Object.assign(life, { phase: 'idle', attempt: 0 });
        break;
      case 'abandoned':
      case 'released':
        law('S1: abandoned and released take turns', life.abandoned === (step.kind === 'released'));
        life.abandoned = step.kind === 'abandoned';
    }
  }
  if (ended) {
    for (const [id, { phase }] of lives) if (phase !== 'idle') broken.push(`A2 to A4: ${id} was ${phase} at the end`);
  }
  return broken;
}

function isGivenUp(reason: string): boolean {
  return ['stopped', 'moved', 'discarded'].includes(reason);
}
