import { defineConfig } from 'vitest/config';
import { project } from '../../vitest.config.js';

/** One file after the other: each has servers and replicas of its own, and kills them. */
export default defineConfig({
  ...project,
  test: { ...project.test, include: ['spec/integration/*.spec.ts'], fileParallelism: false, env: { INTEGRATION: '1' } },
});
