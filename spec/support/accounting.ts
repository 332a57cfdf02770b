import type { Step, StepOf, Trigger } from 'kreconciler/operators';

interface Life {
  /** What the last step of the id said; `cooling`: dropped while dirty, and yet to run. */
  state: 'idle' | 'ready' | 'running' | 'waiting' | 'cooling';
  dirty: boolean;
}

const allowed = {
  enqueued: ['idle', 'waiting', 'cooling'],
  started: ['ready'],
  succeeded: ['running'],
  requeued: ['running'],
  dropped: ['ready', 'running', 'waiting'],
} as const satisfies Partial<Record<Step['kind'], readonly Life['state'][]>>;

/**
 * Checks the laws A1 to A4 over the steps of a loop, and throws with the steps of the id that breaks one.
 *
 * @param events - everything the loop was given, if it was given objects
 * @param ended - the loop has settled, so nothing may be left open
 */
export function checkAccounting(steps: readonly Step[], events?: readonly Trigger[], ended = true): void {
  const lives = new Map<string, Life>();
  for (const [at, step] of steps.entries()) {
    const life = lives.get(step.id) ?? { state: 'idle', dirty: false };
    lives.set(step.id, life);
    const complain = (law: string): never => {
      const story = steps.slice(0, at + 1).filter(({ id }) => id === step.id);
      throw new Error(`${law}: ${step.kind} while ${life.state}\n${story.map((one) => JSON.stringify(one)).join('\n')}`);
    };
    if ((step.trigger !== undefined) !== carriesTrigger(step)) complain('A1');
    if (step.kind in allowed && !(allowed[step.kind as keyof typeof allowed] as readonly string[]).includes(life.state)) complain('A2 to A4');
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
  return step.kind === 'merged' || step.kind === 'rejected' || (step.kind === 'enqueued' && step.trigger !== undefined && step.reason === 'event');
}

function follow(life: Life, step: Step, complain: (law: string) => never): void {
  switch (step.kind) {
    case 'enqueued':
      life.state = 'ready';
      break;
    case 'merged':
      if (life.state === 'running') life.dirty = true;
      break;
    case 'started':
      life.state = 'running';
      life.dirty = false;
      break;
    case 'succeeded':
      life.state = 'idle';
      break;
    case 'requeued':
      life.state = 'waiting';
      break;
    case 'dropped':
      dropped(life, step, complain);
      break;
  }
}

function dropped(life: Life, step: StepOf<'dropped'>, complain: (law: string) => never): void {
  if (life.state !== 'running' && step.reason !== 'stopped') complain('A2, A4');
  if ((life.state === 'running') !== (step.took !== undefined)) complain('A3');
  life.state = life.state === 'running' && life.dirty && step.reason !== 'stopped' ? 'cooling' : 'idle';
}
