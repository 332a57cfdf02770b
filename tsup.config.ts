import { defineConfig } from 'tsup';

export default defineConfig({
  entry: {
    index: 'lib/index.ts',
    etcd: 'lib/etcd/index.ts',
    operators: 'operators/index.ts',
    postgres: 'lib/postgres/index.ts',
    testing: 'lib/testing/index.ts',
    view: 'lib/view/index.ts',
  },
  format: ['esm', 'cjs'],
  target: 'es2022',
  // One shared chunk a format, so that a class is the same class whichever entry it came through.
  splitting: true,
  // Not for the size: without it the split CommonJS output breaks private fields and class names.
  treeshake: true,
  // A `require` in CommonJS: jest refuses `import()` there, and would take fast-check for not installed.
  esbuildOptions: (options, { format }) => {
    if (format === 'cjs') options.supported = { 'dynamic-import': false };
  },
  sourcemap: true,
  clean: true,
  // tsup's declaration worker sets `baseUrl`, which TypeScript 6 reports as deprecated.
  dts: { compilerOptions: { ignoreDeprecations: '6.0' } },
});
