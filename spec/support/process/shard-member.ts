/**
 * A member of the shards `shared`, in a process of its own: writes a line into the table `writes` for each shard that it holds,
 * again and again, under the fence of its term, and says what it takes and loses. SIGTERM stops it in good order.
 */
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { shards } from 'kreconciler/postgres';

const [, , url = '', deadline = '500'] = process.argv;
const pool = new pg.Pool({ connectionString: url, max: 4 });
pool.on('error', () => undefined);
const held = new Map<number, { readonly term: number; readonly free: () => void }>();
const say = (line: object): void => console.log(JSON.stringify(line));
const stop = new AbortController();

const { holdings } = shards({
  connection: url,
  name: 'shared',
  count: 8,
  heartbeat: 100,
  retry: 100,
  settle: 300,
  deadline: Number(deadline),
});
const membership = holdings.subscribe((holding) => {
  const { shard, term } = holding;
  say({ takes: shard, term });
  const free = (): void => {
    held.delete(shard);
    subscription.unsubscribe();
    say({ frees: shard });
  };
  // eslint-disable-next-line rxjs-x/no-nested-subscribe -- each holding has a life of its own
  const subscription = holding.subscribe({
    next: free,
    complete: () => {
      held.delete(shard);
      say({ lost: shard });
    },
  });
  held.set(shard, { term, free });
});
process.once('SIGTERM', () => {
  stop.abort();
});
say({ starts: process.pid });
while (!stop.signal.aborted) {
  for (const [shard, { term }] of held) {
    // What it has in mind to write when it is frozen, it writes when it wakes up: only the fence refuses it then.
    await pause(2);
    const { rowCount } = await pool
      .query(
        `WITH owner AS (SELECT FROM kreconciler_shards WHERE name = 'shared' AND shard = $1 AND term = $2 FOR SHARE)
         INSERT INTO writes (shard, term, pid) SELECT $1, $2, $3 WHERE EXISTS (SELECT FROM owner)`,
        [shard, term, process.pid],
      )
      .catch(() => ({ rowCount: -1 }));
    if (rowCount === 0) say({ refused: shard, term });
  }
  await pause(5);
}
membership.unsubscribe();
for (const { free } of [...held.values()]) free();
await pool.end();
