/**
 * One replica: for each shard that it holds it writes, every 500 ms and under the fence of its term, that it still does. Says in
 * lines of JSON what was refused. SIGTERM stops it in good order: each shard is let go of a moment later.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { shards } from 'kreconciler/etcd';

const url = process.env['ETCD_URL'] ?? '';
const name = process.env['REPLICA'] ?? 'replica';
const owned = shards({ url, name: 'chaos', count: 64, ttl: 6_000, retry: 500, settle: 1_000 });

/** True if the shard is still held in this term, as etcd sees it. */
async function write(shard: number, term: number): Promise<boolean> {
  const transaction = {
    compare: [{ key: btoa(`kreconciler/shards/chaos/owners/${shard}`), target: 'CREATE', create_revision: term }],
    success: [{ request_put: { key: btoa(`log/${shard}/${term}`), value: btoa(name) } }],
  };
  const response = await fetch(`${url}/v3/kv/txn`, { method: 'POST', body: JSON.stringify(transaction) });
  return ((await response.json()) as { succeeded?: boolean }).succeeded === true;
}

async function run(shard: number, term: number, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const accepted = await write(shard, term).catch(() => undefined);
    // What a replica that runs believes is so; only one that was frozen, or hears it just now, may be refused.
    if (accepted === false) console.log(JSON.stringify({ replica: name, refused: shard, term }));
    await sleep(500);
  }
}

const finishing: (() => void)[] = [];
const member = owned.holdings.subscribe((holding) => {
  let isOver = false;
  const end = (): void => {
    isOver = true;
  };
  const finish = (): void => {
    end();
    void running.then(() => held.unsubscribe());
  };
  const running = run(holding.shard, holding.term, () => isOver);
  // eslint-disable-next-line rxjs-x/no-nested-subscribe -- a holding outlives the subscription to all of them
  const held = holding.subscribe({ next: finish, complete: end });
  finishing.push(finish);
});
process.once('SIGTERM', () => {
  member.unsubscribe();
  for (const finish of finishing) finish();
});
console.log(JSON.stringify({ replica: name, message: 'ready' }));
