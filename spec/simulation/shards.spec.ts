import { expect, it } from 'vitest';
import { live } from './shards.js';

// `npm run simulate:shards` does 100,000.
it('H1 to H10 should be kept by replicas that share ids by etcd, through 60 lives full of trouble', async () => {
  for (let seed = 1; seed <= 60; seed++) expect([seed, ...(await live(seed))]).toEqual([seed]);
}, 120_000);
