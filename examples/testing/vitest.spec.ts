// npm run example:testing:vitest
import { describe, it } from 'vitest';
import { tests } from './tests.js';

describe('The DNS reconciler', () => {
  for (const [law, test] of Object.entries(tests)) it(law, test);
});
