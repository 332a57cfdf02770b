import { type SchedulerLike, take } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { constant, noopLogger, observability } from 'kreconciler';
import { type FetchLike, type FetchResponse, type Holding, shards, type ShardsConfig } from 'kreconciler/etcd';
import { virtualTime } from 'kreconciler/testing';
import { EtcdStandIn } from '../../support/etcd-stand-in.js';
import { faultsOf, type Run, ShardsReplica } from '../../support/shards-replica.js';

const quiet = observability({ logger: noopLogger });
const times = { retry: 2_000, settle: 5_000, ttl: 8_000 };
/** More than any of them needs to come to rest. */
const QUIET = times.settle + 2 * 1.2 * times.retry + 1_000;

/** Some replicas, one etcd, and a finger on each of the connections between. */
class Rig {
  readonly etcd: EtcdStandIn;
  readonly runs: Run[] = [];
  #replicas = 0;

  constructor(
    readonly scheduler: SchedulerLike,
    readonly now: () => number,
  ) {
    this.etcd = new EtcdStandIn(scheduler);
  }

  replica(config: Partial<ShardsConfig> = {}, finish?: (done: () => void) => void) {
    const name = `r${this.#replicas++}`;
    let isCut = false;
    const fetch: FetchLike = (url, init) => (isCut ? new Promise(() => {}) : this.etcd.fetch(url, init));
    const source = shards({
      url: 'http://etcd',
      name: 'x',
      count: 10,
      fetch,
      observability: quiet,
      scheduler: this.scheduler,
      ...times,
      ...config,
    });
    const replica = new ShardsReplica(source, { name, now: this.now, runs: this.runs, ...(finish && { finish }) });
    const cut = (value = true) => {
      isCut = value;
    };
    return Object.assign(replica, { cut, unowned: source.unowned });
  }

  /** A `fetch` by which etcd refuses transactions, from the moment on at which it is told to. */
  refusal() {
    let isRefused = false;
    const fetch: FetchLike = (url, init) =>
      isRefused && url.endsWith('/kv/txn') ? answered(403, { message: 'no', code: 7 }) : this.etcd.fetch(url, init);
    const refuse = (value = true) => {
      isRefused = value;
    };
    return { fetch, refuse };
  }

  get members(): string[] {
    return this.keys().filter((key) => key.startsWith('members/'));
  }

  /** What etcd has of the name: `count`, `members/...`, `owners/...`. */
  keys(): string[] {
    return Object.keys(this.etcd.list('kreconciler/shards/x/'));
  }
}

/** What etcd answers, or somebody in between. */
function answered(status: number, body: object | string): Promise<FetchResponse> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return Promise.resolve({ ok: false, status, text: () => Promise.resolve(text), body: null });
}

/** In virtual time, in which a shard that goes twice is found out at the end. */
function inVirtualTime(test: (rig: Rig, advance: (ms: number) => Promise<void>) => Promise<void>): () => Promise<void> {
  return () =>
    virtualTime(async ({ scheduler, now, advance }) => {
      const rig = new Rig(scheduler, now);
      await test(rig, advance);
      expect(faultsOf(rig.runs)).toEqual([]);
    });
}

const sizes = (...replicas: readonly ShardsReplica[]) => replicas.map(({ size }) => size);

describe('shards by a stand-in for etcd, in virtual time', () => {
  it(
    'should give everything to one that is alone, and the terms that etcd has',
    inVirtualTime(async (rig, advance) => {
      const one = rig.replica();
      await advance(QUIET);
      expect(one.shards).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      expect(rig.etcd.list('kreconciler/shards/x/owners/')).toEqual(
        Object.fromEntries([...one.holdings].map(([shard, { run }]) => [shard, run.term])),
      );
      one.stop();
      await advance(100);
      expect(rig.keys()).toEqual(['count']);
    }),
  );

  it(
    'should tell how many shards nobody has, in each process',
    inVirtualTime(async (rig, advance) => {
      const one = rig.replica();
      const other = rig.replica();
      const seen: number[] = [];
      one.unowned?.subscribe((shards) => seen.push(shards));
      await advance(QUIET);
      expect([seen[0], seen.at(-1)]).toEqual([10, 0]);
      other.cut();
      await advance(QUIET + times.ttl);
      expect(seen.slice(seen.indexOf(0))).toContain(5);
      expect(seen.at(-1)).toBe(0);
    }),
  );

  it(
    'H2 should take nothing in its first retry, so that those who come together share at once',
    inVirtualTime(async (rig, advance) => {
      const replicas = [rig.replica(), rig.replica(), rig.replica()];
      await advance(times.retry);
      expect(sizes(...replicas)).toEqual([0, 0, 0]);
      await advance(100);
      expect(sizes(...replicas).sort()).toEqual([3, 3, 4]);
      expect(rig.runs).toHaveLength(10);
      for (const replica of replicas) replica.stop();
    }),
  );

  it(
    'H4, H5 should let go for a newcomer once it has settled, of no more than its part, and hand that over when runs have ended',
    inVirtualTime(async (rig, advance) => {
      const finishing: (() => void)[] = [];
      const one = rig.replica({}, (done) => finishing.push(done));
      await advance(QUIET);
      const two = rig.replica();
      await advance(times.settle);
      expect(sizes(one, two)).toEqual([10, 0]);
      await advance(100);
      expect(finishing).toHaveLength(5);
      expect(sizes(one, two)).toEqual([10, 0]);
      for (const done of finishing.splice(0)) done();
      await advance(100);
      expect(sizes(one, two)).toEqual([5, 5]);
      await advance(QUIET);
      expect(rig.runs).toHaveLength(15);
      one.stop();
      two.stop();
    }),
  );

  it(
    'H7 should disturb no shard that does not move',
    inVirtualTime(async (rig, advance) => {
      const one = rig.replica();
      await advance(QUIET);
      const two = rig.replica();
      await advance(QUIET);
      const stayed = new Map(one.holdings);
      const three = rig.replica();
      await advance(QUIET);
      expect(sizes(one, two, three).sort()).toEqual([3, 3, 4]);
      for (const [shard, holding] of one.holdings) expect(stayed.get(shard)).toBe(holding);
      for (const replica of [one, two, three]) replica.stop();
    }),
  );

  it(
    'H10 should end its membership first, free each shard at its rest, and be followed at once',
    inVirtualTime(async (rig, advance) => {
      const finishing: (() => void)[] = [];
      const one = rig.replica({}, (done) => finishing.push(done));
      const two = rig.replica();
      await advance(QUIET);
      one.stop();
      await advance(50);
      expect(rig.members).toHaveLength(1);
      expect(sizes(one, two)).toEqual([5, 5]);
      finishing.pop()!();
      await advance(50);
      expect(sizes(one, two)).toEqual([4, 6]);
      // Its session lives for as long as it holds something.
      await advance(20_000);
      expect(sizes(one, two)).toEqual([4, 6]);
      for (const done of finishing) done();
      await advance(50);
      expect(sizes(one, two)).toEqual([0, 10]);
      two.stop();
      await advance(50);
      expect(rig.keys()).toEqual(['count']);
    }),
  );

  it(
    'H3 should follow one that dies within its time to live, a second and one look, though no watch tells',
    inVirtualTime(async (rig, advance) => {
      const silent: FetchLike = (url, init) => (url.endsWith('/watch') ? new Promise(() => {}) : rig.etcd.fetch(url, init));
      const one = rig.replica({ fetch: silent });
      const two = rig.replica();
      await advance(QUIET);
      two.cut();
      await advance(times.ttl + 1_000 + 1.2 * times.retry);
      expect(one.size).toBe(10);
      one.stop();
      two.stop();
    }),
  );

  it(
    'H6 should lose everything three quarters of its time to live after the last answered request was sent',
    inVirtualTime(async (rig, advance) => {
      const one = rig.replica();
      await advance(QUIET);
      const renewed = rig.etcd.requests.filter(({ path }) => path === 'lease/keepalive').at(-1)!.at;
      one.cut();
      await advance(renewed + 6_000 - rig.now() - 1);
      expect(one.size).toBe(10);
      await advance(1);
      expect(one.size).toBe(0);
      expect(rig.keys()).toHaveLength(12);
      one.cut(false);
      await advance(20_000);
      expect(one.size).toBe(10);
      one.stop();
    }),
  );

  it(
    'should ask the next endpoint, where one does not answer in time, and stay with it in the sessions to come',
    inVirtualTime(async (rig, advance) => {
      let silent = 0;
      const fetch: FetchLike = (url, init) => {
        if (url.startsWith('http://etcd')) return rig.etcd.fetch(url, init);
        silent++;
        return new Promise(() => {});
      };
      const one = rig.replica({ url: ['http://silent', 'http://etcd'], fetch, deadline: 1_000 });
      await advance(1_000 + times.retry + 100);
      expect(one.size).toBe(10);
      rig.etcd.endSomeLease(0);
      await advance(QUIET);
      expect(one.size).toBe(10);
      expect(rig.runs).toHaveLength(20);
      expect(silent).toBe(1);
      one.stop();
    }),
  );

  it(
    'should lose one shard only, when its key is deleted by hand',
    inVirtualTime(async (rig, advance) => {
      const one = rig.replica();
      await advance(QUIET);
      const { run } = one.holdings.get(4)!;
      rig.etcd.delete('kreconciler/shards/x/owners/4');
      await advance(100);
      expect(run.to).toBeDefined();
      expect(rig.runs).toHaveLength(11);
      expect(one.size).toBe(10);
      one.stop();
    }),
  );

  it(
    'should join again when its membership is ended by hand, and go on running',
    inVirtualTime(async (rig, advance) => {
      const one = rig.replica({ backoff: constant(100) });
      await advance(QUIET);
      const member = rig.members[0]!;
      rig.etcd.delete(`kreconciler/shards/x/${member}`);
      await advance(200);
      expect(rig.keys()).toContain(member);
      expect(rig.runs).toHaveLength(10);
      one.stop();
    }),
  );

  it(
    'H3 should free what it was given and does not know, because the answer was lost',
    inVirtualTime(async (rig, advance) => {
      let lost = 0;
      const losing: FetchLike = async (url, init) => {
        const response = await rig.etcd.fetch(url, init);
        if (init.body.includes('request_txn') && lost++ === 0) throw new Error('the answer is lost');
        return response;
      };
      const one = rig.replica({ fetch: losing });
      await advance(QUIET);
      expect([lost, one.size]).toEqual([2, 10]);
      one.stop();
      await advance(100);
      expect(rig.keys()).toEqual(['count']);
    }),
  );

  it(
    'H3 should free what it is given after it was stopped',
    inVirtualTime(async (rig, advance) => {
      const one = rig.replica({}, () => undefined);
      await advance(times.retry + 1);
      // The take is under way.
      one.stop();
      await advance(100);
      expect(rig.keys()).toEqual(['count']);
    }),
  );

  it(
    'should let go of what nobody subscribes to',
    inVirtualTime(async (rig, advance) => {
      const seen: Holding[] = [];
      const { scheduler, etcd } = rig;
      const source = shards({ url: 'http://etcd', name: 'x', count: 3, fetch: etcd.fetch, observability: quiet, scheduler, ...times });
      const member = source.holdings.pipe(take(2)).subscribe((holding) => seen.push(holding));
      await advance(QUIET);
      expect(seen).toHaveLength(2);
      expect(rig.keys()).toEqual(['count']);
      let isLost = false;
      seen[0]!.subscribe({ complete: () => (isLost = true) });
      expect(isLost).toBe(true);
      member.unsubscribe();
    }),
  );

  it(
    'H8 should refuse another count while there is a member, by an error that names both, and take it when there is none',
    inVirtualTime(async (rig, advance) => {
      const finishing: (() => void)[] = [];
      const one = rig.replica({ count: 10 }, (done) => finishing.push(done));
      await advance(QUIET);
      const refused = rig.replica({ count: 12 });
      await advance(100);
      expect(refused.error).toEqual(
        expect.objectContaining({
          name: 'ShardCountError',
          message: 'Expected `count` to be 10, which the members of the shards "x" have, got 12: stop them all to change it',
        }),
      );
      one.stop();
      await advance(100);
      // It is no member any more; but it still runs shards of the old count.
      const two = rig.replica({ count: 12 });
      await advance(QUIET);
      expect([two.error, two.size]).toEqual([undefined, 0]);
      for (const done of finishing) done();
      await advance(QUIET);
      expect(two.size).toBe(12);
      expect(Math.min(...two.runs.slice(-12).map(({ term }) => term))).toBeGreaterThan(
        Math.max(...two.runs.slice(0, 10).map(({ term }) => term)),
      );
      two.stop();
    }),
  );

  it(
    'should end its membership, go on with what runs, and say why, where it cannot take',
    inVirtualTime(async (rig, advance) => {
      const warn = vi.fn();
      let isFull = false;
      // As etcd does once its quota is used up: it deletes still.
      const fetch: FetchLike = (url, init) =>
        isFull && init.body.includes('request_put') ? answered(429, { message: 'no space', code: 8 }) : rig.etcd.fetch(url, init);
      const one = rig.replica({ fetch, observability: observability({ logger: { ...noopLogger, warn } }), backoff: constant(1_000) });
      await advance(QUIET);
      isFull = true;
      rig.etcd.delete('kreconciler/shards/x/owners/4');
      await advance(QUIET);
      expect(one.size).toBe(9);
      expect(rig.members).toHaveLength(0);
      expect(warn).toHaveBeenCalledWith('Membership in the shards of x failed, trying again', {
        failures: 1,
        delay: 1_000,
        error: expect.objectContaining({ message: 'etcd at http://etcd refused: no space' }) as Error,
      });
      isFull = false;
      await advance(QUIET);
      expect(one.size).toBe(10);
      one.stop();
    }),
  );

  describe('where etcd refuses its transactions, and goes on renewing its lease', () => {
    it(
      'H3 should end its membership, let what runs finish, and leave everything to the others',
      inVirtualTime(async (rig, advance) => {
        const warn = vi.fn();
        const finishing: (() => void)[] = [];
        const { fetch, refuse } = rig.refusal();
        const logged = observability({ logger: { ...noopLogger, warn } });
        const one = rig.replica({ fetch, observability: logged }, (done) => finishing.push(done));
        const [two, three] = [rig.replica(), rig.replica()];
        await advance(QUIET);
        const held = one.size;
        refuse();
        three.stop();
        await advance(times.retry);
        expect(finishing).toHaveLength(held);
        expect(one.size).toBe(held);
        expect(warn).toHaveBeenCalledWith(
          'The session for the shards of x failed, trying again',
          expect.objectContaining({ error: expect.objectContaining({ message: 'etcd at http://etcd refused: no' }) as Error }),
        );
        for (const done of finishing) done();
        await advance(100);
        expect(sizes(one, two)).toEqual([0, 10]);
        // It tries again, and what it cannot do keeps nobody.
        await advance(60_000);
        expect(rig.members).toHaveLength(1);
        refuse(false);
        await advance(QUIET);
        expect(sizes(one, two)).toEqual([5, 5]);
        one.stop();
        two.stop();
        for (const done of finishing) done();
      }),
    );

    it(
      'H10, P3 should leave nothing behind on a stop, and come to its end',
      inVirtualTime(async (rig, advance) => {
        const { fetch, refuse } = rig.refusal();
        const one = rig.replica({ fetch });
        await advance(QUIET);
        refuse();
        one.stop();
        await advance(100);
        expect([rig.keys(), rig.etcd.leases]).toEqual([['count'], 0]);
        const { length } = rig.etcd.requests;
        await advance(60_000);
        expect(rig.etcd.requests).toHaveLength(length);
      }),
    );

    it(
      'H10 should free what still runs when it is stopped at the end of its last run',
      inVirtualTime(async (rig, advance) => {
        const finishing: (() => void)[] = [];
        const { fetch, refuse } = rig.refusal();
        const one = rig.replica({ fetch }, (done) => finishing.push(done));
        await advance(QUIET);
        refuse();
        one.stop();
        await advance(20_000);
        expect([finishing.length, one.size, rig.etcd.leases]).toEqual([10, 10, 1]);
        for (const done of finishing) done();
        await advance(100);
        expect([rig.keys(), rig.etcd.leases]).toEqual([['count'], 0]);
      }),
    );
  });

  it(
    'P3 should end its lease on a stop, and come to its end, where its transactions are not answered within the deadline',
    inVirtualTime(async (rig, advance) => {
      let asked = 0;
      let isHanging = false;
      const fetch: FetchLike = (url, init) => {
        if (!isHanging) return rig.etcd.fetch(url, init);
        asked++;
        return url.endsWith('/kv/txn') ? new Promise(() => {}) : rig.etcd.fetch(url, init);
      };
      const one = rig.replica({ fetch, deadline: 1_000, retry: 10_000 });
      await advance(QUIET + 10_000);
      expect(one.size).toBe(10);
      isHanging = true;
      one.stop();
      await advance(1_010);
      expect([rig.keys(), rig.etcd.leases]).toEqual([['count'], 0]);
      asked = 0;
      await advance(60_000);
      expect(asked).toBe(0);
    }),
  );

  it(
    'H10 should leave nothing behind on a stop, where its endpoint is silent and the next one is not',
    inVirtualTime(async (rig, advance) => {
      let silent = '';
      const fetch: FetchLike = (url, init) => (silent !== '' && url.startsWith(silent) ? new Promise(() => {}) : rig.etcd.fetch(url, init));
      const one = rig.replica({ url: ['http://one', 'http://two'], fetch, deadline: 1_000 });
      await advance(QUIET);
      silent = 'http://one';
      one.stop();
      await advance(1_100);
      expect([rig.keys(), rig.etcd.leases]).toEqual([['count'], 0]);
    }),
  );

  it.each([
    ['has no leader', 503, { code: 14, message: 'etcdserver: no leader' }],
    ['has failed', 500, { code: 13, message: 'internal' }],
    ['does not know why', 500, { code: 2, message: 'unknown' }],
    ['has too much to do', 429, { code: 8, message: 'etcdserver: too many requests' }],
    ['is behind a proxy that does not reach it', 503, { message: 'no upstream' }],
    ['is behind a proxy that has too much to do', 429, { message: 'come again' }],
  ])('should free a shard as soon as etcd can, and keep the others, where etcd %s', (_, status, body) =>
    inVirtualTime(async (rig, advance) => {
      let isFailing = false;
      const fetch: FetchLike = (url, init) =>
        isFailing && init.body.includes('request_delete_range') ? answered(status, body) : rig.etcd.fetch(url, init);
      const one = rig.replica({ fetch });
      await advance(QUIET);
      isFailing = true;
      const two = rig.replica();
      await advance(QUIET + 20_000);
      expect(sizes(one, two)).toEqual([5, 0]);
      isFailing = false;
      await advance(QUIET);
      expect(sizes(one, two)).toEqual([5, 5]);
      expect(rig.runs).toHaveLength(15);
      one.stop();
      two.stop();
    })(),
  );

  it(
    'should take for a refusal what somebody between answers without JSON, who does not let it through',
    inVirtualTime(async (rig, advance) => {
      let isBarred = false;
      const fetch: FetchLike = (url, init) =>
        isBarred && url.endsWith('/kv/txn') ? answered(403, 'RBAC: access denied') : rig.etcd.fetch(url, init);
      const one = rig.replica({ fetch });
      await advance(QUIET);
      isBarred = true;
      rig.etcd.delete('kreconciler/shards/x/owners/4');
      await advance(QUIET);
      expect(rig.members).toHaveLength(0);
      one.stop();
    }),
  );

  it(
    'should cost no more than one request and a half a second while nothing happens',
    inVirtualTime(async (rig, advance) => {
      const one = rig.replica({ count: 64 });
      await advance(60_000);
      const before = rig.etcd.requests.length;
      await advance(60_000);
      expect(rig.etcd.requests.length - before).toBeLessThan(90);
      one.stop();
    }),
  );

  it(
    'should take many in several transactions',
    inVirtualTime(async (rig, advance) => {
      const one = rig.replica({ count: 250 });
      await advance(QUIET);
      expect(one.size).toBe(250);
      one.stop();
      await advance(100);
      expect(rig.keys()).toEqual(['count']);
    }),
  );
});

describe('shards, given nonsense', () => {
  it.each([
    [{ name: '' }, 'Expected `name` to be a non-empty string, got `` (string)'],
    [{ count: 0 }, 'Expected `count` to be an integer from 1 to 10000, got `0` (number)'],
    [{ count: 1.5 }, 'Expected `count` to be an integer from 1 to 10000, got `1.5` (number)'],
    [{ count: 20_000 }, 'Expected `count` to be an integer from 1 to 10000, got `20000` (number)'],
    [{ settle: -1 }, 'Expected `settle` to be a finite number of ms > 0, got `-1` (number)'],
    [{ ttl: '8' }, 'Expected `ttl` to be a finite number of ms > 0, got `8` (string)'],
  ])('should name the field', (config, message) => {
    expect(() => shards({ url: 'http://etcd', name: 'x', ...config } as ShardsConfig)).toThrow(new TypeError(message));
  });
});
