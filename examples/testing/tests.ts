// The tests themselves. They know no test runner: they are functions that throw or reject if they fail, so the same
// tests run under vitest, under jest and under node:test.
import assert from 'node:assert/strict';
import { reconcile, type Step } from 'kreconciler/operators';
import { journal, marbles, replay, type Scenario, simulate, virtualTime } from 'kreconciler/testing';
import { of } from 'rxjs';
import { dnsReconciler } from './dns.js';

interface World {
  wanted: Record<string, string>;
  actual: Record<string, string>;
}

/** A world in which names are wanted and unwanted, and everything goes wrong that can. */
const zone: Scenario<World> = {
  ids: ['www', 'mail', 'ftp'],
  world: () => ({ wanted: {}, actual: {} }),
  changes: {
    want: ({ wanted }, name, random) => {
      wanted[name] = `10.0.0.${String(Math.floor(random() * 5))}`;
    },
    unwant: ({ wanted }, name) => {
      // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- a name is a key
      delete wanted[name];
    },
  },
  streams: {
    watch: { on: ['want', 'unwant'], list: names },
    resync: { every: 60_000, list: names },
  },
  reconciler: () => (name, context) => {
    const { read, effect } = context;
    const reconciler = dnsReconciler({
      wanted: (name) => read(({ wanted }) => wanted[name]),
      actual: (name) => read(({ actual }) => actual[name]),
      put: (name, address) =>
        effect('put', ({ actual }) => {
          actual[name] = address;
        }),
      remove: (name) =>
        effect('remove', ({ actual }) => {
          // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- a name is a key
          delete actual[name];
        }),
    });
    return reconciler(name, context);
  },
  converged: ({ wanted, actual }) => names({ wanted, actual }).every((name) => wanted[name] === actual[name]),
};

function names({ wanted, actual }: World): string[] {
  return [...new Set([...Object.keys(wanted), ...Object.keys(actual)])];
}

export const tests: Record<string, () => void | Promise<unknown>> = {
  'should retry a record that could not be written': marbles(({ hot, scheduler, expectSteps }) => {
    const names$ = hot('   w', { w: 'www' });
    const failing = () => {
      throw new Error('SERVFAIL');
    };
    expectSteps(names$.pipe(reconcile(failing, { scheduler, backoff: () => 250 }))).toBe(
      {
        started: '         w 249ms w 249ms w',
        requeued: '        w 249ms w 249ms w',
      },
      { w: 'www' },
    );
  }),

  'should look at a record every minute': () =>
    virtualTime(async ({ scheduler, advance, sleep }) => {
      const steps: Step[] = [];
      const poll = async () => {
        await sleep(100);
        return { requeueDelay: 60_000 };
      };
      of('www')
        .pipe(reconcile(poll, { scheduler }))

        .subscribe((step) => steps.push(step));
      await advance(3_600_000);
      assert.equal(steps.filter(({ kind }) => kind === 'started').length, 60);
    }),

  'should keep the zone right, whatever goes wrong': () => simulate(zone, { runs: 300 }),

  'should do better than on the day of the incident': async () => {
    const lines: string[] = [];
    await virtualTime(async ({ scheduler, advance }) => {
      const failing = () => Promise.reject(new Error('SERVFAIL'));
      of('www')
        .pipe(reconcile(failing, { scheduler, backoff: () => 250 }), journal())

        .subscribe((line) => lines.push(line));
      await advance(600);
    });
    const { diagram } = await replay(lines, { reconciler: () => undefined });
    assert.match(diagram, /^enqueued {3}a\nstarted {4}a\nsucceeded {2}a\nwhere a = www$/);
  },
};
