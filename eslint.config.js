import rxjsX from 'eslint-plugin-rxjs-x';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';
import { noStringAsObservableInput } from './.eslint/no-string-as-observable-input.js';

const clock = 'Law T6: every time source is a SchedulerLike.';
const timers = ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate'];
const globals = ['globalThis', 'global', 'window', 'self'];

/** Each argument takes a place on the stack: from some 100,000 on it overflows. */
const noSpreadOfMany = [
  "CallExpression[callee.object.name='Math'] > SpreadElement",
  'CallExpression[callee.property.name=/^(push|unshift|splice|fromCharCode|fromCodePoint)$/] > SpreadElement',
].map((selector) => ({ selector, message: 'A list of any length is no list of arguments: it overflows the stack. Use a loop.' }));

/** The default of a second is not enough where much else goes on: what is slow must not fail. */
const noHurry = {
  selector: "CallExpression[callee.object.name='vi'][callee.property.name='waitFor'][arguments.length=1]",
  message: 'Give vi.waitFor a timeout of some 30 s: its default is a second, which a busy machine takes for anything.',
};
const noExportAll = {
  selector: 'ExportAllDeclaration',
  message: 'An index names what it exports.',
};

export default defineConfig(
  // The recipes in examples/sources bring clients of their own: `npm run test:sources` installs them and checks these files.
  globalIgnores(['dist/', '.reports/', '.stryker-tmp/', ...(process.argv.includes('examples/sources') ? [] : ['examples/sources/'])]),
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, rxjsX.configs.strict],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    plugins: { local: { rules: { 'no-string-as-observable-input': noStringAsObservableInput } } },
    rules: {
      'local/no-string-as-observable-input': 'error',
      'no-restricted-syntax': ['error', noExportAll, noHurry],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // `Result | void` is what a reconciler may return.
      '@typescript-eslint/no-invalid-void-type': 'off',
      '@typescript-eslint/no-unnecessary-condition': ['error', { allowConstantLoopConditions: 'only-allowed-literals' }],
      // A failure is `unknown`: whatever a reconciler threw is passed on as it is.
      '@typescript-eslint/only-throw-error': ['error', { allowThrowingUnknown: true, allowThrowingAny: false }],
      '@typescript-eslint/prefer-promise-reject-errors': ['error', { allowThrowingUnknown: true }],
      'rxjs-x/throw-error': ['error', { allowThrowingUnknown: true, allowThrowingAny: false }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
    },
  },
  {
    files: ['operators/**/*.ts', 'lib/**/*.ts'],
    rules: {
      'no-restricted-globals': ['error', ...[...timers, 'performance'].map((name) => ({ name, message: clock }))],
      'no-restricted-properties': [
        'error',
        ...[
          { object: 'Date', property: 'now' },
          { object: 'performance', property: 'now' },
          { object: 'process', property: 'hrtime' },
          { object: 'process', property: 'uptime' },
          { object: 'AbortSignal', property: 'timeout' },
          ...globals.flatMap((object) => [...timers, 'performance', 'Date'].map((property) => ({ object, property }))),
        ].map((banned) => ({ ...banned, message: clock })),
      ],
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            { regex: '^(node:)?(timers|perf_hooks)(/|$)', message: clock },
            { regex: '^@opentelemetry/api$', importNames: ['Observable'], message: 'Here an Observable is the one of rxjs.' },
          ],
        },
      ],
      'no-restricted-syntax': [
        'error',
        noExportAll,
        ...noSpreadOfMany,
        { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: clock },
        { selector: "CallExpression[callee.name='Date']", message: clock },
        {
          selector: ':matches(Identifier, PrivateIdentifier)[name=/\\$/]',
          message: 'No `$` in operators/ and lib/: that mark is for the variables of users.',
        },
        {
          selector: "BinaryExpression[operator='instanceof'][right.name='Observable']",
          message: 'Law B5: an Observable of another copy of rxjs is one too; recognise it by behaviour.',
        },
        {
          selector: "BinaryExpression[operator='instanceof'][right.property.name='Observable']",
          message: 'Law B5: an Observable of another copy of rxjs is one too; recognise it by behaviour.',
        },
      ],
    },
  },
  {
    files: ['spec/**/*.ts', 'examples/sources/*/*.spec.ts'],
    rules: {
      'rxjs-x/no-ignored-default-value': 'off',
      'rxjs-x/no-ignored-error': 'off',
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/restrict-template-expressions': 'off',
    },
  },
  {
    files: ['examples/**/*.ts'],
    rules: {
      'rxjs-x/no-ignored-default-value': 'off',
      'rxjs-x/no-ignored-error': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
);
