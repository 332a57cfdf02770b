import { defineConfig } from 'vitest/config';
import config from '../../vitest.config.js';

/** For `npm run mutation`: the specs of the engine, but those that are slow by intent (loads, child processes). */
export default defineConfig({
  ...config,
  test: { ...config.test, include: ['spec/operators/**/*.spec.ts'], exclude: ['spec/operators/{bear,process}.spec.ts'] },
});
