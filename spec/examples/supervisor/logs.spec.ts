import { appendFileSync, mkdirSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Logs } from '../../../examples/supervisor/logs.js';

let state: string;
let path: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'logs-'));
  mkdirSync(join(state, 'services', 'web'), { recursive: true });
  path = join(state, 'services', 'web', '0.log');
});
afterEach(() => {
  rmSync(state, { recursive: true });
});

const texts = (logs: Logs) => logs.read().map(({ name, text }) => `${name} ${text}`);

describe('Logs', () => {
  it('should give each line once, and only when it is whole', () => {
    const logs = new Logs(state);
    writeFileSync(path, 'one\ntw');
    expect(texts(logs)).toEqual(['web.0 one']);
    expect(texts(logs)).toEqual([]);
    appendFileSync(path, 'o\n\nthree\n');
    expect(texts(logs)).toEqual(['web.0 two', 'web.0 ', 'web.0 three']);
  });

  it('should not tear a character that is written in two parts', () => {
    const logs = new Logs(state);
    const [first, second] = [Buffer.from('ü\n').subarray(0, 1), Buffer.from('ü\n').subarray(1)];
    writeFileSync(path, first);
    expect(texts(logs)).toEqual([]);
    appendFileSync(path, second);
    expect(texts(logs)).toEqual(['web.0 ü']);
  });

  it('should pass over what an earlier supervisor has shown', () => {
    writeFileSync(path, 'old\n');
    const logs = new Logs(state);
    appendFileSync(path, 'new\n');
    expect(texts(logs)).toEqual(['web.0 new']);
  });

  it('should start anew in a log that was cut', () => {
    writeFileSync(path, 'old\n');
    const logs = new Logs(state);
    truncateSync(path);
    expect(texts(logs)).toEqual([]);
    appendFileSync(path, 'new\n');
    expect(texts(logs)).toEqual(['web.0 new']);
  });

  it('should not let a log grow without end', () => {
    const logs = new Logs(state);
    writeFileSync(path, 'x'.repeat(2 ** 21));
    logs.read();
    expect(statSync(path).size).toBe(0);
    appendFileSync(path, 'new\n');
    expect(texts(logs).at(-1)).toMatch(/new$/);
  });

  it('should not mind that all is cleared away', () => {
    writeFileSync(path, '');
    const logs = new Logs(state);
    rmSync(join(state, 'services'), { recursive: true });
    expect(texts(logs)).toEqual([]);
  });

  it('should leave out what would move the cursor', () => {
    const logs = new Logs(state);
    writeFileSync(path, '\x1b[2J\x1b[31mred\x1b[0m\x07\ttab\r\n');
    expect(texts(logs)).toEqual(['web.0 red\ttab']);
  });
});
