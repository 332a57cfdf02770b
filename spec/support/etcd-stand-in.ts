import { asapScheduler, type SchedulerLike } from 'rxjs';
import type { FetchLike, FetchResponse } from '../../lib/etcd/fetch-like.js';

interface Stored {
  readonly value: string;
  readonly created: number;
  readonly modified: number;
  readonly lease: string | undefined;
}

interface Range {
  readonly key: string;
  readonly range_end?: string;
}

interface Compare extends Range {
  readonly target: 'CREATE' | 'VALUE' | 'MOD';
  readonly result?: 'EQUAL' | 'GREATER' | 'LESS';
  readonly create_revision?: number | string;
  readonly mod_revision?: number | string;
  readonly value?: string;
}

interface Operation {
  readonly request_put?: { readonly key: string; readonly value?: string; readonly lease?: string };
  readonly request_delete_range?: Range;
  readonly request_range?: Range;
  readonly request_txn?: Txn;
}

interface Txn {
  readonly compare?: readonly Compare[];
  readonly success?: readonly Operation[];
  readonly failure?: readonly Operation[];
}

/**
 * A stand-in for etcd's JSON gateway, in memory, for tests in virtual time: leases, transactions, ranges and watches as they
 * are used here, and nothing else. What it says of etcd is only what `etcd-server.ts` has shown of the real one.
 */
export class EtcdStandIn {
  /** Every request, by its path, with when it came. */
  readonly requests: { readonly path: string; readonly at: number }[] = [];
  /** From now on nothing is answered, though it may be carried out. */
  isSilent = false;
  /** From now on nothing of this is carried out: it is refused. */
  refused: string | undefined;
  revision = 1;
  readonly #keys = new Map<string, Stored>();
  readonly #leases = new Map<string, { readonly ttl: number; deadline: number }>();
  readonly #watchers = new Set<(key: string, type: 'PUT' | 'DELETE') => void>();
  #ids = 0;

  constructor(
    readonly scheduler: SchedulerLike = asapScheduler,
    readonly latency = 1,
  ) {}

  readonly fetch: FetchLike = (url, { body, signal }) => {
    const path = url.slice(url.indexOf('/v3/') + 4);
    this.requests.push({ path, at: this.scheduler.now() });
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')));
      this.scheduler.schedule(() => {
        const response = this.#respond(path, JSON.parse(body) as never, signal);
        if (!this.isSilent) resolve(response);
      }, this.latency);
    });
  };

  /** The keys there are, in order, with the revision that created them. */
  list(prefix: string): Record<string, number> {
    const found = [...this.#keys].filter(([key]) => key.startsWith(prefix)).sort();
    return Object.fromEntries(found.map(([key, { created }]) => [key.slice(prefix.length), created]));
  }

  /** How many leases there are. */
  get leases(): number {
    return this.#leases.size;
  }

  /** Puts a key as somebody else would. */
  put(key: string, value = ''): void {
    this.#put({ key, value: btoa(value) }, ++this.revision);
  }

  delete(key: string): void {
    this.#delete(key, ++this.revision);
  }

  /** Somebody revokes a lease, the one at `where` of all, from 0 up to 1. */
  endSomeLease(where: number): void {
    const id = [...this.#leases.keys()][Math.floor(where * this.#leases.size)];
    if (id !== undefined) this.#end(id);
  }

  #respond(path: string, body: never, signal: AbortSignal): FetchResponse {
    if (path === 'watch') return this.#watch(body, signal);
    if (path === this.refused) return json({ message: 'no', code: 7 }, 403);
    const answer = this.#answer(path, body);
    return answer === undefined ? json({ message: 'etcdserver: requested lease not found', code: 5 }, 404) : json(answer, 200);
  }

  #answer(path: string, body: never): object | undefined {
    const { ID, TTL } = body as { ID: string; TTL: number };
    switch (path) {
      case 'lease/grant':
        return this.#grant(Math.max(2, TTL));
      case 'lease/keepalive':
        return { result: this.#renew(ID) };
      case 'lease/revoke':
        return this.#end(ID);
      case 'kv/range':
        return { ...this.#header(), kvs: this.#range(body) };
      case 'kv/txn':
        return this.#transact(body);
      default:
        throw new Error(`The stand-in knows no ${path}`);
    }
  }

  #header() {
    return { header: { revision: String(this.revision) } };
  }

  #grant(ttl: number): object {
    const ID = String(++this.#ids);
    this.#leases.set(ID, { ttl, deadline: this.scheduler.now() + ttl * 1_000 });
    this.#expire(ID, ttl * 1_000);
    return { ID, TTL: String(ttl) };
  }

  #expire(ID: string, delay: number): void {
    this.scheduler.schedule(() => {
      const lease = this.#leases.get(ID);
      if (lease === undefined) return;
      const left = lease.deadline - this.scheduler.now();
      if (left > 0) this.#expire(ID, left);
      else this.#end(ID);
    }, delay);
  }

  #renew(ID: string): object {
    const lease = this.#leases.get(ID);
    if (lease === undefined) return { ID };
    lease.deadline = this.scheduler.now() + lease.ttl * 1_000;
    return { ID, TTL: String(lease.ttl) };
  }

  #end(ID: string): object | undefined {
    if (!this.#leases.delete(ID)) return undefined;
    const keys = [...this.#keys].filter(([, { lease }]) => lease === ID);
    if (keys.length > 0) this.revision++;
    for (const [key] of keys) this.#delete(key, this.revision);
    return this.#header();
  }

  #transact(txn: Txn): object | undefined {
    const next = this.revision + 1;
    const { answer, hasWritten } = this.#branch(txn, next);
    if (hasWritten) this.revision = next;
    return answer && { ...answer, ...this.#header() };
  }

  #branch({ compare = [], success = [], failure = [] }: Txn, next: number): { answer: object | undefined; hasWritten: boolean } {
    const succeeded = compare.every((one) => this.#holds(one));
    let hasWritten = false;
    const responses: object[] = [];
    for (const { request_put: put, request_delete_range: deleted, request_range: range, request_txn: nested } of succeeded
      ? success
      : failure) {
      if (put !== undefined) {
        if (put.lease !== undefined && !this.#leases.has(put.lease)) return { answer: undefined, hasWritten };
        this.#put({ ...put, key: atob(put.key) }, next);
        hasWritten = true;
        responses.push({ response_put: {} });
      } else if (deleted !== undefined) {
        for (const { key } of this.#range(deleted)) {
          this.#delete(atob(key), next);
          hasWritten = true;
        }
        responses.push({ response_delete_range: {} });
      } else if (range !== undefined) {
        responses.push({ response_range: { kvs: this.#range(range) } });
      } else if (nested !== undefined) {
        const inner = this.#branch(nested, next);
        hasWritten ||= inner.hasWritten;
        responses.push({ response_txn: inner.answer });
      }
    }
    return { answer: { ...(succeeded ? { succeeded } : {}), responses }, hasWritten };
  }

  /** etcd compares each key of a range, and where there is none an empty one, which has no value. */
  #holds({ target, result = 'EQUAL', ...compare }: Compare): boolean {
    const found = this.#range(compare);
    if (found.length === 0 && target === 'VALUE') return false;
    return (found.length === 0 ? [{ value: '', create_revision: '0', mod_revision: '0' }] : found).every((kv) => {
      if (target === 'VALUE') return kv.value === compare.value;
      const field = target === 'CREATE' ? 'create_revision' : 'mod_revision';
      const [has, wanted] = [Number(kv[field]), Number(compare[field])];
      return result === 'EQUAL' ? has === wanted : result === 'GREATER' ? has > wanted : has < wanted;
    });
  }

  #range({ key, range_end = '' }: Range) {
    const [first, end] = [atob(key), atob(range_end)];
    const isIn = (candidate: string) => (end === '' ? candidate === first : candidate >= first && candidate < end);
    return [...this.#keys]
      .filter(([candidate]) => isIn(candidate))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([candidate, { value, created, modified, lease }]) => ({
        key: btoa(candidate),
        value,
        create_revision: String(created),
        mod_revision: String(modified),
        ...(lease === undefined ? {} : { lease }),
      }));
  }

  #put(
    { key, value = '', lease }: { readonly key: string; readonly value?: string; readonly lease?: string | undefined },
    revision: number,
  ): void {
    this.#keys.set(key, { value, created: this.#keys.get(key)?.created ?? revision, modified: revision, lease });
    for (const watcher of this.#watchers) watcher(key, 'PUT');
  }

  #delete(key: string, revision: number): void {
    if (!this.#keys.delete(key)) return;
    this.revision = revision;
    for (const watcher of this.#watchers) watcher(key, 'DELETE');
  }

  #watch({ create_request: range }: { readonly create_request: Range }, signal: AbortSignal): FetchResponse {
    const lines = [{ result: { ...this.#header(), created: true } }] as object[];
    const [first, end] = [atob(range.key), atob(range.range_end ?? '')];
    let wake: () => void = () => undefined;
    const watcher = (key: string, type: 'PUT' | 'DELETE') => {
      if (end === '' ? key !== first : key < first || key >= end) return;
      lines.push({ result: { ...this.#header(), events: [{ type, kv: { key: btoa(key), mod_revision: String(this.revision) } }] } });
      wake();
    };
    this.#watchers.add(watcher);
    signal.addEventListener('abort', () => this.#watchers.delete(watcher));
    const read = async () => {
      while (lines.length === 0 || this.isSilent) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return { done: false, value: new TextEncoder().encode(`${JSON.stringify(lines.shift())}\n`) };
    };
    return { ...json({}, 200), body: { getReader: () => ({ read }) } };
  }
}

function json(body: object, status: number): FetchResponse {
  return { ok: status === 200, status, text: () => Promise.resolve(JSON.stringify(body)), body: null };
}
