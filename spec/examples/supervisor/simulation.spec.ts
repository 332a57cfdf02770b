import { FAULTS, type Random, type Scenario, simulate } from 'kreconciler/testing';
import { describe, expect, it } from 'vitest';
import type { Process } from '../../../examples/supervisor/ports.js';
import { supervise } from '../../../examples/supervisor/reconciler.js';
import type { Service } from '../../../examples/supervisor/service.js';

interface World {
  services: Record<string, Service>;
  /** The operating system: the living, and the dead that nobody has buried. */
  processes: Process[];
  pid: number;
}

const isAlive = ({ ending }: Process): boolean => ending === undefined;

/** The supervisor's reconciler over a folder and an operating system that are made of memory. */
const supervisor: Scenario<World> = {
  ids: ['web', 'worker', 'ticker'],
  world: () => ({ services: {}, processes: [], pid: 1 }),
  changes: {
    edit: ({ services }, id, random) => {
      services[id] = {
        command: ['true'],
        env: {},
        folder: '/srv',
        replicas: Math.floor(random() * 4),
        version: oneOf(random, ['1', '2']) ?? '1',
      };
    },
    remove: ({ services }, id) => {
      // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- an id is a key
      delete services[id];
    },
    die: ({ processes }, id, random) => {
      const living = processes.filter((process) => process.id === id && isAlive(process));
      const victim = oneOf(random, living);
      if (victim === undefined) return;
      const ending = oneOf(random, [
        { how: 'exited with code 1', restartIn: 700 },
        { how: 'was ended by SIGKILL', restartIn: 0 },
      ]);
      processes[processes.indexOf(victim)] = { ...victim, ending: ending! };
    },
  },
  streams: {
    files: { on: ['edit', 'remove'], list: idsOf },
    exits: { on: ['die'] },
    resync: { every: 60_000, list: idsOf },
  },
  reconciler: () => async (id, context) => {
    const { read, effect } = context;
    const reconciler = supervise({
      services: { read: (id) => read(({ services }) => services[id]) },
      processes: {
        list: (id) => read(({ processes }) => processes.filter((process) => process.id === id)),
        start: (id, replica, { version }) =>
          effect(`start ${replica}`, (world) => {
            const pid = world.pid++;
            world.processes.push({ key: `${id}-${pid}`, id, replica, version, pid });
          }),
        stop: ({ key, replica }) =>
          effect(`stop ${replica}`, ({ processes }) => {
            const index = processes.findIndex((process) => process.key === key);
            if (index >= 0) processes.splice(index, 1);
          }),
      },
    });
    try {
      await reconciler(id, context);
    } catch (error) {
      // There is no clock in this world: what rests has rested by the next run.
      await effect('rest', ({ processes }) => {
        processes.forEach((process, index) => {
          if (process.id === id && !isAlive(process)) processes[index] = { ...process, ending: { how: 'ended', restartIn: 0 } };
        });
      });
      throw error;
    }
  },
  converged: ({ services, processes }) =>
    processes.every((process) => isAlive(process) && services[process.id]?.version === process.version) &&
    idsOf({ services, processes }).every((id) => {
      const replicas = processes.filter((process) => process.id === id).map(({ replica }) => replica);
      return replicas.sort().join() === Array.from({ length: services[id]?.replicas ?? 0 }, (_, i) => i).join();
    }),
};

function idsOf({ services, processes }: Pick<World, 'services' | 'processes'>): string[] {
  return [...new Set([...Object.keys(services), ...processes.map(({ id }) => id)])];
}

function oneOf<T>(random: Random, items: readonly T[]): T | undefined {
  return items[Math.floor(random() * items.length)];
}

describe("The supervisor's reconciler", () => {
  it('should bring the processes to what the folder says, whatever goes wrong', async () => {
    await expect(simulate(supervisor, { runs: 2000 })).resolves.toMatchObject({ runs: 2000 });
  }, 120_000);

  it('should never let two processes of one number live, unless one was being started when the supervisor died', async () => {
    const twice = ({ processes }: World): boolean => {
      const names = processes.filter(isAlive).map(({ id, replica }) => `${id}.${replica}`);
      return new Set(names).size === names.length;
    };
    // Nor while there are two supervisors, which a lock prevents, or an old copy is read of what it reads itself.
    const kinds = FAULTS.filter((kind) => !['crash', 'handover', 'stale'].includes(kind));
    await expect(simulate({ ...supervisor, invariants: { 'one process a number': twice } }, { runs: 1000, kinds })).resolves.toMatchObject({
      runs: 1000,
    });
  }, 120_000);
});
