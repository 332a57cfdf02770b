import { setTimeout as sleep } from 'node:timers/promises';
import { Controller, noopLogger, observability } from 'kreconciler';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { nomadEvents } from './nomad.js';
import { nomadStandIn, type StandIn } from './stand-in.js';

const SILENCE = 500;

describe('the event stream of Nomad, against a stand-in', () => {
  let nomad: StandIn;
  let stopped: (() => Promise<void>) | undefined;
  const actual = new Map<string, number>();

  async function start({ token = 'secret' } = {}): Promise<void> {
    nomad = await nomadStandIn({ heartbeat: 100 });
    const list = async () => {
      const response = await fetch(`${nomad.address}/v1/jobs`, { headers: { 'X-Nomad-Token': token }, signal: AbortSignal.timeout(5_000) });
      if (!response.ok) throw new Error(`Listing jobs: ${String(response.status)}`);
      return ((await response.json()) as readonly { readonly ID: string }[]).map(({ ID }) => ID);
    };
    const jobs = nomadEvents({ address: nomad.address, token, topics: ['Job'], idOf: ({ Key }) => Key, list, silence: SILENCE });
    const controller = new Controller(
      { leaderElectionEnabled: false, workerCount: 4, observability: observability({ logger: noopLogger }) },
      (id) => void actual.set(id, nomad.jobs.get(id) ?? 0),
      { jobs },
    );
    const stop = new AbortController();
    const ended = controller.run(stop.signal);
    stopped = async () => {
      stop.abort();
      await ended;
    };
  }
  afterEach(async () => {
    await stopped?.();
    nomad.stop();
    actual.clear();
  });
  const isRight = () => expect(Object.fromEntries(actual)).toEqual(Object.fromEntries(nomad.jobs));
  const eventually = (assertion: () => void) => vi.waitFor(assertion, { timeout: 90_000, interval: 20 });

  /** Listed, and connected. */
  async function settled(): Promise<void> {
    for (const id of ['one', 'two', 'three']) nomad.change(id);
    await eventually(isRight);
    await eventually(() => expect(nomad.asked.lists).toBe(2));
  }

  it('should resume at the last index, without a list', async () => {
    await start();
    await settled();
    nomad.cut();
    nomad.change('two');
    await eventually(isRight);
    nomad.change('four');
    await eventually(isRight);
    expect(nomad.asked).toEqual({ streams: 2, lists: 2 });
  });

  it('should list again where the buffer does not reach back to the last index', async () => {
    await start();
    await settled();
    nomad.cut();
    for (let count = 0; count < 200; count++) nomad.change(count === 0 ? 'missed' : 'two');
    await eventually(isRight);
    expect(actual.has('missed')).toBe(true);
    expect(nomad.asked).toEqual({ streams: 2, lists: 3 });
  });

  it('should list again where a restarted server knows of no index', async () => {
    await start();
    await settled();
    nomad.restart();
    nomad.jobs.set('missed', 1_000);
    await eventually(isRight);
    expect(nomad.asked).toEqual({ streams: 2, lists: 3 });
  });

  it('should make a silent connection anew', async () => {
    await start();
    await settled();
    nomad.silence();
    nomad.change('missed');
    await sleep(2 * SILENCE);
    expect(nomad.asked.streams).toBeGreaterThan(1);
    expect(actual.has('missed')).toBe(false);
    nomad.restart();
    await eventually(isRight);
  });

  it('should send the token, and go on trying where it is refused', async () => {
    await start({ token: 'another' });
    nomad.change('one');
    await sleep(1_000);
    expect(actual).toEqual(new Map());
    expect(nomad.asked).toEqual({ streams: 0, lists: 0 });
  });

  it('should lose no id to cuts, silence, repetitions and restarts', async () => {
    await start();
    for (let count = 1; count <= 2_000; count++) {
      nomad.change(`id-${Math.floor(300 * Math.random())}`);
      if (count % 300 === 100) nomad.cut();
      if (count % 300 === 150) nomad.repeat();
      if (count % 300 === 200) nomad.silence();
      if (count % 300 === 299) nomad.restart();
      if (count % 2 === 0) await sleep(5);
    }
    nomad.restart();
    await eventually(isRight);
    expect(actual.size).toBeGreaterThan(250);
    expect(nomad.asked.streams).toBeGreaterThan(3);
  });

  it('should let go of its connection', async () => {
    await start();
    await settled();
    await stopped?.();
    const { streams, lists } = nomad.asked;
    nomad.change('one');
    await sleep(2 * SILENCE);
    expect(nomad.asked).toEqual({ streams, lists });
    expect(nomad.connected()).toBe(0);
  });
});
