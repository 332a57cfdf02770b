import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ownFiles } from '../support/own-files.js';

const root = join(import.meta.dirname, '../..');
const laws = readFileSync(join(root, 'operators/README.md'), 'utf8');

/** `V8` is the engine of Node. */
const CODE = /\b(?!V8\b)[SAQTREOPLYBWCHVF]\d{1,2}\b/g;

/** The codes that stand first in a row of a table. */
function definedIn(text: string): string[] {
  return [...text.matchAll(/^\| ([A-Z]\d+) \|/gm)].map(([, code]) => code!);
}

const defined = definedIn(laws);
/** Of the families that are being built: their tests come with them. */
const expectedLater = laws
  .split(/^### /m)
  .filter((family) => family.includes('*Being built'))
  .flatMap(definedIn);

const cited = new Map<string, string[]>();
for (const path of ownFiles(root, /\.(ts|js|cjs|md|yml)$/)) {
  const text = readFileSync(join(root, path), 'utf8').replace(/^\| [A-Z]\d+ \|/gm, '');
  for (const [code] of text.matchAll(CODE)) cited.set(code, [...(cited.get(code) ?? []), path]);
}

describe('operators/README.md', () => {
  it('should have a place for each file of the engine', () => {
    const files = ownFiles(root, /^operators\/.*\.ts$/).map((path) => path.slice('operators/'.length));
    expect(files.filter((file) => file !== 'index.ts' && !laws.includes(`](${file})`))).toEqual([]);
  });
});

describe('The laws', () => {
  it('should be defined once each', () => {
    expect(defined).toEqual([...new Set(defined)]);
  });

  it('should define each code that is cited', () => {
    const unknown = [...cited].filter(([code]) => !defined.includes(code)).map(([code, paths]) => `${code} in ${paths.join(', ')}`);
    expect(unknown).toEqual([]);
  });

  it('should be cited by a test, each of them', () => {
    const inTests = (code: string): boolean => (cited.get(code) ?? []).some((path) => path.startsWith('spec/'));
    expect(defined.filter((code) => !inTests(code) && !expectedLater.includes(code))).toEqual([]);
  });
});
