import {
  defaultHasher,
  reconcile,
  reconcileSettings,
  type ReconcileConfig,
  type Rejected,
  route,
  type Step,
  type Trigger,
} from 'kreconciler/operators';
import fc from 'fast-check';
import { of } from 'rxjs';
import { describe, expect, it } from 'vitest';

const scheduler = { now: () => 5, schedule: () => of().subscribe() };
const settings = (config: ReconcileConfig = {}) => reconcileSettings({ workerCount: 4, scheduler, ...config });

const throwing = {
  get id(): string {
    throw new Error('hands off');
  },
};

const hands = {
  get: () => {
    throw new Error('hands off');
  },
};

/** Why `event` is rejected; `undefined` if it has a lane. */
function rejectionOf(event: unknown, config?: ReconcileConfig): Rejected | undefined {
  const routed = route(event as Trigger, settings(config));
  return typeof routed === 'number' ? undefined : routed;
}

/** By name, because not even a test runner can print them. */
const odd: Readonly<Record<string, unknown>> = {
  'an empty string': '',
  'an empty id': { id: '' },
  'no id': {},
  'a number for an id': { id: 5 },
  'null for an id': { id: null },
  'a String object for an id': { id: Object('a') as unknown },
  'a symbol for an id': { id: Symbol('a') },
  undefined: undefined,
  null: null,
  'a number': 5,
  'a bigint': 5n,
  'a symbol': Symbol('a'),
  true: true,
  'a function': () => 'a',
  'an array': ['a'],
  'an id that throws': throwing,
  'a proxy that throws': new Proxy({}, hands),
};

describe('route', () => {
  it.each(['a', { id: 'a' }, { id: 'a', stream: 'files', message: { ack: 1 } }])('should find the lane of %j', (event) => {
    expect(route(event, settings())).toBe(defaultHasher('a', 4));
  });

  it('should ask the hasher with the id and the number of lanes', () => {
    const asked: unknown[] = [];
    route('a', settings({ workerHasher: (...args) => asked.push(args) }));
    expect(asked).toEqual([['a', 4]]);
  });

  it.each(['__proto__', 'constructor', 'toString', ' ', '\u0000', '\ud800', 'x'.repeat(10_000)])(
    'Q4 should take %j for an ordinary id',
    (id) => {
      expect(route({ id }, settings())).toBe(defaultHasher(id, 4));
    },
  );

  it.each(Object.keys(odd))("Q4 should reject %s as '', with an error that shows it", (name) => {
    const rejection = rejectionOf(odd[name]);
    expect(rejection).toMatchObject({ kind: 'rejected', id: '', worker: -1, at: 5, reason: 'invalid_id' });
    expect(rejection?.error).toBeInstanceOf(TypeError);
    expect((rejection?.error as TypeError).message).toMatch(/^Expected an id to be a non-empty string, got `/);
    expect(Object(rejection?.trigger)).toBe(rejection?.trigger);
  });

  it.each<[unknown, string]>([
    ['', '`` (string)'],
    [{ id: 5 }, '`{"id":5}` (object)'],
    [undefined, '`undefined`'],
  ])('Q4 should show %j', (event, shown) => {
    expect(rejectionOf(event)?.error).toEqual(new TypeError(`Expected an id to be a non-empty string, got ${shown}`));
  });

  it('A1 should carry the event it rejects', () => {
    const trigger = { id: '', stream: 'files', message: 1 };
    expect(rejectionOf(trigger)?.trigger).toBe(trigger);
    expect(rejectionOf(5)?.trigger).toEqual({ id: '' });
  });

  it.each([-1, -5, -1e9])('Q4 should take a lane of %d for `unrouted`, which is no error', (lane) => {
    expect(rejectionOf('a', { workerHasher: () => lane })).toStrictEqual({
      kind: 'rejected',
      id: 'a',
      worker: -1,
      at: 5,
      reason: 'unrouted',
      trigger: { id: 'a' },
    });
  });

  it.each<[unknown, string]>([
    [4, '`4` (number)'],
    [Infinity, '`Infinity` (number)'],
    [-Infinity, '`-Infinity` (number)'],
    [NaN, '`NaN` (number)'],
    [0.5, '`0.5` (number)'],
    [-0.5, '`-0.5` (number)'],
    ['1', '`1` (string)'],
    ['-1', '`-1` (string)'],
    [undefined, '`undefined`'],
    [null, '`null`'],
    [Symbol('x'), '`Symbol(x)` (symbol)'],
  ])('Q4 should reject a lane of %s: hasher_failed', (lane, shown) => {
    const rejection = rejectionOf('a', { workerHasher: () => lane as number });
    expect(rejection).toMatchObject({ kind: 'rejected', id: 'a', worker: -1, reason: 'hasher_failed', trigger: { id: 'a' } });
    if (typeof lane !== 'symbol') {
      expect(rejection?.error).toEqual(new TypeError(`Expected \`workerHasher\` to return an integer below 4, got ${shown}`));
    }
  });

  it('Q4 should reject an event whose hasher throws, with its error', () => {
    const error = new Error('no hash');
    const workerHasher = (): number => {
      throw error;
    };
    expect(rejectionOf('a', { workerHasher })).toMatchObject({ id: 'a', reason: 'hasher_failed', error });
  });

  it('Q4 should take -0 for lane 0', () => {
    expect(Object.is(route('a', settings({ workerHasher: () => -0 })), 0)).toBe(true);
  });

  it('should have a lane below `workerCount` for every id', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1 }), fc.integer({ min: 1, max: 100 }), (id, workerCount) => {
        const worker = Number(route(id, settings({ workerCount })));
        expect(worker >= 0 && worker < workerCount).toBe(true);
      }),
    );
  });

  it('B1 should not throw, whatever comes', () => {
    const steps: Step[] = [];
    const ran: string[] = [];
    const events = [...Object.values(odd), 'a'] as string[];
    of(...events)
      .pipe(reconcile((id) => void ran.push(id)))
      .subscribe((step) => steps.push(step));
    expect(steps.filter(({ kind }) => kind === 'rejected')).toHaveLength(Object.keys(odd).length);
    expect(ran).toEqual(['a']);
  });
});
