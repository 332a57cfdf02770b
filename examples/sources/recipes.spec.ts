import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { recipes } from './install.js';

const ROOT = join(import.meta.dirname, '../..');
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
const npm = async (script: string, ...args: readonly string[]) =>
  (await promisify(execFile)('npm', ['run', '--silent', script, '--', ...args], { cwd: ROOT })).stdout;

describe.each(recipes)('the recipe %s', (name) => {
  it('should be run by one npm script', () => {
    expect(Object.values(scripts).filter((script) => script.endsWith(`examples/sources/start.ts ${name}`))).toHaveLength(1);
  });

  it('should say how it is run', async () => {
    expect(await npm(`example:${name}`, '--help')).toContain(`npm run example:${name}`);
  });

  it('should run, reconcile, and end by itself when its time is over', async () => {
    expect(await npm(`example:${name}`, '--for', '3')).toMatch(/^\S*(web|api|worker|kitchen|hall|attic|cellar)\b.*\d/m);
  });

  it('should have a README of one screen', () => {
    const lines = readFileSync(join(import.meta.dirname, name, 'README.md'), 'utf8').split('\n');
    expect(lines.length).toBeLessThan(60);
    expect(lines.join('\n')).toMatch(/^\| replay \|[^]*^\| order \|[^]*^\| acknowledged \|[^]*^\| lost while away \|/m);
  });
});
