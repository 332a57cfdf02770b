import type { ReconcileContext } from 'kreconciler';
import { describe, expect, it } from 'vitest';
import type { Ending, Process, Processes } from '../../../examples/supervisor/ports.js';
import { type Status, supervise } from '../../../examples/supervisor/reconciler.js';
import type { Service } from '../../../examples/supervisor/service.js';

const service = (replicas: number, version = 'v1'): Service => ({ command: ['true'], env: {}, folder: '/srv', replicas, version });
const crashed: Ending = { how: 'exited with code 3', restartIn: 500 };
const killed: Ending = { how: 'was ended by SIGKILL', restartIn: 0 };

/** The processes are strings such as `web.0 v1`, and so is what was done: `stop web.0 v1`. */
class World implements Processes {
  readonly wanted = new Map<string, Service | Error>();
  readonly statuses: Status[] = [];
  readonly done: string[] = [];
  /** What cannot be done. */
  readonly refused = new Set<string>();
  /** How whatever is started ends at once. */
  ending: Ending | undefined;
  processes: Process[] = [];
  #pid = 0;

  has(id: string, replica: number, version = 'v1', ending?: Ending): this {
    this.#pid++;
    this.processes.push({ key: String(this.#pid), pid: this.#pid, id, replica, version, ending });
    return this;
  }

  get running(): readonly string[] {
    return this.processes.filter(({ ending }) => ending === undefined).map(({ id, replica, version }) => `${id}.${replica} ${version}`);
  }

  async list(id: string): Promise<readonly Process[]> {
    return this.processes.filter((process) => process.id === id);
  }

  async start(id: string, replica: number, { version }: Service): Promise<void> {
    this.#do(`start ${id}.${replica} ${version}`);
    if (this.running.some((name) => name.startsWith(`${id}.${replica} `))) throw new Error(`${id}.${replica} runs twice`);
    this.has(id, replica, version, this.ending);
  }

  async stop(process: Process): Promise<void> {
    this.#do(`stop ${process.id}.${process.replica} ${process.version}`);
    this.processes = this.processes.filter(({ key }) => key !== process.key);
  }

  async reconcile(id: string): Promise<void> {
    const services = {
      read: async () => {
        const wanted = this.wanted.get(id);
        if (wanted instanceof Error) throw wanted;
        return wanted;
      },
    };
    const reconciler = supervise({ services, processes: this, tell: (status) => this.statuses.push(status) });
    await reconciler(id, { signal: new AbortController().signal } as ReconcileContext);
  }

  #do(what: string): void {
    if (this.refused.has(what)) throw new Error(`cannot ${what}`);
    this.done.push(what);
  }
}

describe('supervise', () => {
  it.each<[law: string, wanted: Service | undefined, found: [replica: number, version?: string, ending?: Ending][], done: string[]]>([
    ['start what is missing', service(2), [], ['start web.0 v1', 'start web.1 v1']],
    ['leave alone what is right', service(2), [[0], [1]], []],
    ['fill a gap', service(3), [[0], [2]], ['start web.1 v1']],
    ['stop only what is too many', service(1), [[0], [1], [2]], ['stop web.1 v1', 'stop web.2 v1']],
    ['stop all if none is wanted', service(0), [[0]], ['stop web.0 v1']],
    ['stop all of which there is no file', undefined, [[0], [1, 'v0']], ['stop web.0 v1', 'stop web.1 v0']],
    [
      'restart what has changed, and stop all of it first',
      service(2, 'v2'),
      [[0], [1], [0, 'v2']],
      ['stop web.0 v1', 'stop web.1 v1', 'start web.1 v2'],
    ],
    ['keep the first of two with one number', service(1), [[0], [0]], ['stop web.0 v1']],
    ['bury and replace at once what was killed', service(1), [[0, 'v1', killed]], ['stop web.0 v1', 'start web.0 v1']],
    [
      'bury what has crashed with a version that is wanted no more',
      service(1, 'v2'),
      [[0, 'v1', crashed]],
      ['stop web.0 v1', 'start web.0 v2'],
    ],
    ['do nothing about nothing', undefined, [], []],
  ])('should %s', async (_, wanted, found, done) => {
    const world = new World();
    if (wanted !== undefined) world.wanted.set('web', wanted);
    for (const process of found) world.has('web', ...process);
    await world.reconcile('web');
    expect(world.done).toEqual(done);
    const after = world.running;
    await world.reconcile('web');
    expect(world.running).toEqual(after);
    expect(world.done).toEqual(done);
  });

  it('should look after its own id only', async () => {
    const world = new World().has('worker', 0);
    await world.reconcile('web');
    expect(world.running).toEqual(['worker.0 v1']);
  });

  it('should touch nothing while it cannot read what is wanted', async () => {
    const world = new World().has('web', 0).has('web', 0, 'v0');
    world.wanted.set('web', new Error('no JSON'));
    await expect(world.reconcile('web')).rejects.toThrow('no JSON');
    expect(world.done).toEqual([]);
  });

  it('should fail by a crash until its rest is over, and start it anew then, however often it is called meanwhile', async () => {
    const world = new World().has('web', 0, 'v1', crashed);
    world.wanted.set('web', service(2));
    for (let times = 0; times < 3; times++) {
      await expect(world.reconcile('web')).rejects.toMatchObject({ message: 'web.0 exited with code 3', retryDelay: 500 });
      expect(world.running).toEqual(['web.1 v1']);
    }
    world.processes = world.processes.map((process) => (process.ending === crashed ? { ...process, ending: killed } : process));
    await world.reconcile('web');
    expect(world.running).toEqual(['web.1 v1', 'web.0 v1']);
  });

  it('should try again when the first of several may be started again', async () => {
    const world = new World().has('web', 0, 'v1', crashed).has('web', 1, 'v1', { ...crashed, restartIn: 200 });
    world.wanted.set('web', service(2));
    await expect(world.reconcile('web')).rejects.toMatchObject({ retryDelay: 200 });
  });

  it('should fail by what has ended as soon as it was started', async () => {
    const world = new World();
    world.wanted.set('web', service(1));
    world.ending = crashed;
    await expect(world.reconcile('web')).rejects.toMatchObject({ message: 'web.0 exited with code 3', retryDelay: 500 });
    expect(world.done).toEqual(['start web.0 v1']);
  });

  it('should start nothing while something old cannot be stopped', async () => {
    const world = new World().has('web', 0).has('web', 1);
    world.wanted.set('web', service(2, 'v2'));
    world.refused.add('stop web.0 v1');
    await expect(world.reconcile('web')).rejects.toThrow('cannot stop web.0 v1');
    expect(world.running).toEqual(['web.0 v1']);
    world.refused.clear();
    await world.reconcile('web');
    expect(world.running).toEqual(['web.0 v2', 'web.1 v2']);
  });

  it('should start what it can, and tell all that it could not', async () => {
    const world = new World();
    world.wanted.set('web', service(3));
    world.refused.add('start web.0 v1').add('start web.2 v1');
    await expect(world.reconcile('web')).rejects.toThrow('cannot start web.0 v1; cannot start web.2 v1');
    expect(world.running).toEqual(['web.1 v1']);
  });

  it('should tell how the service stands before and after, also if it fails', async () => {
    const world = new World().has('web', 0, 'v1', killed);
    world.wanted.set('web', service(2));
    world.refused.add('start web.1 v1');
    await expect(world.reconcile('web')).rejects.toThrow();
    expect(world.statuses).toMatchObject([
      { id: 'web', desired: 2, running: 0, pids: [], isChanging: false },
      { id: 'web', desired: 2, running: 0, isChanging: true },
      { id: 'web', desired: 2, running: 1, pids: [2], isChanging: true },
    ]);
  });
});
