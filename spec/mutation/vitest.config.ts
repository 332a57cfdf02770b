import { defineConfig } from 'vitest/config';
import { project } from '../../vitest.config.js';

/** For `npm run mutation`: the specs of the engine, but those that are slow by intent (loads, child processes). */
export default defineConfig({
  ...project,
  // Short, for many a mutant hangs.
  test: {
    ...project.test,
    testTimeout: 10_000,
    include: ['spec/operators/**/*.spec.ts'],
    exclude: ['spec/operators/{load,process}.spec.ts'],
  },
});
