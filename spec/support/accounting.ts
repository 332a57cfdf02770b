import type { Step, StepOf, Trigger } from 'kreconciler/operators';

interface Life {
  /** What the last step of the id said. `owed`: events during its last run, or while it was abandoned, ask for another one. */
  state: 'idle' | 'ready' | 'running' | 'waiting' | 'owed';
  /** An event came during its run. */
  dirty: boolean;
  abandoned: boolean;
  /** An event came while it was waiting and abandoned. */
  marked: boolean;
}

const allowed = {
  enqueued: ['idle', 'waiting', 'owed'],
  started: ['ready'],
  succeeded: ['running'],
  requeued: ['running'],
  dropped: ['ready', 'running', 'waiting'],
} as const satisfies Partial<Record<Step['kind'], readonly Life['state'][]>>;

/**
 * Checks the laws A1 to A4 and S2 over the steps of a loop, and throws with the steps of the id that breaks one.
 *
 * @param events - everything the loop was given, if it was given objects
 * @param ended - the loop has settled, so nothing may be left open
 */
export function checkAccounting(steps: readonly Step[], events?: readonly Trigger[], ended = true): void {
  const lives = new Map<string, Life>();
  for (const [at, step] of steps.entries()) {
    const life = lives.get(step.id) ?? { state: 'idle', dirty: false, abandoned: false, marked: false };
    lives.set(step.id, life);
    const complain = (law: string): never => {
      const story = steps.slice(0, at + 1).filter(({ id }) => id === step.id);
      throw new Error(`${law}: ${step.kind} while ${life.state}\n${story.map((one) => JSON.stringify(one)).join('\n')}`);
    };
    if ((step.trigger !== undefined) !== carriesTrigger(step)) complain('A1');
    if (step.kind in allowed && !(allowed[step.kind as keyof typeof allowed] as readonly string[]).includes(life.state))
      complain('A2 to A4');
    if (step.kind === 'enqueued' && life.state === 'idle' && step.trigger === undefined) complain('S2');
    follow(life, step, complain);
  }
  if (ended) {
    const open = [...lives].filter(([, { state }]) => state !== 'idle');
    if (open.length > 0) throw new Error(`Left open: ${JSON.stringify(open)}`);
  }
  if (events !== undefined) {
    const told = steps.flatMap(({ trigger }) => trigger ?? []);
    if (told.length !== events.length || new Set(told).size !== told.length || told.some((trigger) => !events.includes(trigger))) {
      throw new Error(`A1: ${events.length} events were told by ${told.length} steps`);
    }
  }
}

function carriesTrigger(step: Step): boolean {
  return (
    step.kind === 'merged' ||
    step.kind === 'rejected' ||
    (step.kind === 'enqueued' && step.trigger !== undefined && step.reason === 'event')
  );
}

function follow(life: Life, step: Step, complain: (law: string) => never): void {
  switch (step.kind) {
    case 'enqueued':
      life.state = 'ready';
      break;
    case 'merged':
      if (life.state === 'running') life.dirty = true;
      else if (life.abandoned && life.state === 'idle') life.state = 'owed';
      else if (life.abandoned && life.state === 'waiting') life.marked = true;
      break;
    case 'started':
      if (life.abandoned) complain('S1');
      life.state = 'running';
      life.dirty = false;
      break;
    case 'succeeded':
      life.state = life.dirty ? 'owed' : 'idle';
      break;
    case 'requeued':
      life.state = 'waiting';
      break;
    case 'dropped':
      dropped(life, step, complain);
      break;
    case 'abandoned':
      life.abandoned = true;
      break;
    case 'released':
      life.abandoned = life.marked = false;
      break;
  }
}

function dropped(life: Life, step: StepOf<'dropped'>, complain: (law: string) => never): void {
  const ran = life.state === 'running';
  if (!ran && step.reason !== 'stopped') complain('A2, A4');
  if (ran !== (step.took !== undefined)) complain('A3');
  life.state = (ran && life.dirty) || (life.state === 'waiting' && life.marked) ? 'owed' : 'idle';
  life.marked = false;
}
