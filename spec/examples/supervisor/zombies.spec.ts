import { describe, expect, it } from 'vitest';
import { firstProcess, leavesZombies } from '../../../examples/supervisor/zombies.js';

describe('leavesZombies', () => {
  it.each([
    ['as process 1', 1, 'node'],
    ['as process 1 whose name nobody tells', 1, ''],
    ['below a Node that is process 1', 7, 'node'],
    ['below an npm that is process 1', 19, 'npm start'],
    ['below an npm with another name', 19, 'npm run start'],
  ])('should say so %s', (_, pid, first) => {
    expect(leavesZombies(pid, first)).toBe(true);
  });

  it.each([['systemd'], ['docker-init'], ['tini'], ['dumb-init'], ['sh'], ['nodemanager'], ['']])(
    'should trust another process 1 to wait for orphans: `%s`',
    (first) => {
      expect(leavesZombies(4321, first)).toBe(false);
    },
  );
});

it('should know the name of process 1, or none', () => {
  expect(firstProcess()).toMatch(process.platform === 'linux' ? /^\S/ : /^$/);
});
