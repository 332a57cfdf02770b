import { defineConfig } from 'vitest/config'

export default defineConfig({
  // `kreconciler` and its entries resolve to the sources, by the `paths` of tsconfig.json.
  resolve: { tsconfigPaths: true },
  test: {
    include: ['spec/**/*.spec.ts', 'examples/testing/*.spec.ts'],
    pool: 'threads',
    testTimeout: 10_000,
    hookTimeout: 30_000,
    restoreMocks: true,
    unstubGlobals: true,
    benchmark: { include: ['spec/bench/**/*.bench.ts'] },
    coverage: {
      provider: 'v8',
      include: ['operators/**/*.ts', 'lib/**/*.ts'],
      exclude: ['**/index.ts'],
      reporter: ['text', 'html'],
      reportsDirectory: '.reports/coverage',
    },
  },
})
