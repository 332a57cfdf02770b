// npm run example:testing:node
import { describe, it } from 'node:test';
import { tests } from './tests.js';

void describe('The DNS reconciler', () => {
  for (const [law, test] of Object.entries(tests)) {
    void it(law, async () => {
      await test();
    });
  }
});
