import { defineConfig } from 'vitest/config';

/** The tests of the recipes need clients and servers that the repository does without: `npm run test:sources` installs and runs them. */
export default defineConfig({
  resolve: { tsconfigPaths: true },
  test: {
    root: import.meta.dirname,
    include: ['**/*.spec.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // They mostly wait for servers that were killed or silenced.
    maxWorkers: 4,
  },
});
