import { Linter } from 'eslint';
import { join } from 'node:path';
import ts from 'typescript';
import tseslint from 'typescript-eslint';
import { expect, it } from 'vitest';
import { noStringAsObservableInput } from '../.eslint/no-string-as-observable-input.js';

/** The lines, by what stands on them, that the rule complains of. */
function complaints(code: string): readonly string[] {
  const path = join(import.meta.dirname, 'linted.ts');
  const options: ts.CompilerOptions = { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022, strict: true, types: [] };
  const host = ts.createCompilerHost(options);
  const getSourceFile = host.getSourceFile.bind(host);
  host.getSourceFile = (name, version) => (name === path ? ts.createSourceFile(name, code, version) : getSourceFile(name, version));
  const programs = [ts.createProgram([path], options, host)];
  const messages = new Linter({ cwd: import.meta.dirname }).verify(
    code,
    {
      files: ['**/*.ts'],
      plugins: { local: { rules: { letters: noStringAsObservableInput } } },
      languageOptions: { parser: tseslint.parser, parserOptions: { programs } },
      rules: { 'local/letters': 'error' },
    },
    path,
  );
  return messages.map(({ line, message, ruleId }) => (ruleId === null ? message : code.split('\n')[line - 1]!.trim()));
}

it('should not let a string pass for an ObservableInput, which it would be letter by letter', () => {
  const wrong = [
    'mergeMap((name) => idOf(name) ?? []),',
    'concatMap(({ length }) => `${length}`),',
    'switchMap((name) => name),',
    'mergeAll(),',
  ];
  const right = ['mergeMap((name) => [idOf(name)]),', 'map((name) => name),', "startWith('x'),", 'concatMap(async (name) => name),'];
  const code = `
    import { concatMap, from, map, mergeAll, mergeMap, Observable, startWith, switchMap } from 'rxjs';
    declare function idOf(name: string): string | undefined;
    declare const names$: Observable<string>;
    ${[...wrong, ...right].map((line) => `names$.pipe(\n${line}\n);`).join('\n')}
    from('web');
    from(['web']);
    Array.from('web');
  `;
  expect(complaints(code)).toEqual([...wrong, "from('web');"]);
});
