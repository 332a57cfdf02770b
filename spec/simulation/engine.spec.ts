import { simulate } from 'kreconciler/testing';
import { expect, it } from 'vitest';
import { scenario } from './engine.js';

// `npm run simulate` does 100,000.
it('should keep its laws in 2,000 simulated scenarios', async () => {
  await expect(simulate(scenario, { runs: 2000 })).resolves.toMatchObject({ runs: 2000 });
}, 120_000);
