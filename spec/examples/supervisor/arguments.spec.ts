import { describe, expect, it } from 'vitest';
import { parseArguments, USAGE } from '../../../examples/supervisor/arguments.js';

describe('parseArguments', () => {
  it('should have a default for everything', () => {
    expect(parseArguments([], '/services')).toEqual({
      dir: '/services',
      workers: 16,
      resync: 10,
      grace: 5,
      json: false,
      view: true,
      port: 4280,
      help: false,
    });
  });

  it('should take a value behind a blank or an equals sign', () => {
    const args = ['--dir', '/', '--state=/a=b', '--for', '1.5', '--workers=2', '--grace', '0', '--json', '--view', '--port=0', '--help'];
    expect(parseArguments(args, '')).toEqual({
      dir: '/',
      state: '/a=b',
      for: 1.5,
      workers: 2,
      resync: 10,
      grace: 0,
      json: true,
      view: true,
      port: 0,
      help: true,
    });
  });

  it('should have a page for people, and for programs only if they ask for one', () => {
    const hasView = (...args: string[]) => parseArguments(args, '/').view;
    expect([hasView(), hasView('--no-view'), hasView('--json'), hasView('--json', '--view'), hasView('--view', '--no-view')]).toEqual([
      true,
      false,
      false,
      true,
      false,
    ]);
  });

  it.each([
    [['--dir', '/no/such'], 'Expected `--dir` to be a folder, got `/no/such`'],
    [['--dir'], 'Expected `--dir` to be followed by a value, got nothing'],
    [['--state', ''], 'Expected `--state` to be a folder, got ``'],
    [['--for', 'ever'], 'Expected `--for` to be a number of seconds > 0, got `ever`'],
    [['--for', '0'], 'Expected `--for` to be a number of seconds > 0, got `0`'],
    [['--for='], 'Expected `--for` to be a number of seconds > 0, got ``'],
    [['--workers', '1.5'], 'Expected `--workers` to be an integer >= 1, got `1.5`'],
    [['--workers', '0'], 'Expected `--workers` to be an integer >= 1, got `0`'],
    [['--port', '65536'], 'Expected `--port` to be an integer from 0 to 65535, got `65536`'],
    [['--grace', '-1'], 'Expected `--grace` to be a number of seconds >= 0, got `-1`'],
    [
      ['--json=yes'],
      'Expected `the options` to be out of --dir, --state, --for, --workers, --resync, --grace, --port, --json, --view, --no-view, --help, got `--json=yes`',
    ],
    [
      ['--worker', '2'],
      'Expected `the options` to be out of --dir, --state, --for, --workers, --resync, --grace, --port, --json, --view, --no-view, --help, got `--worker`',
    ],
    [['--__proto__', '2'], 'got `--__proto__`'],
    [['services'], 'got `services`'],
    [['-h'], 'got `-h`'],
  ])('should say what is wrong with %j', (args, message) => {
    expect(() => parseArguments(args, '/')).toThrow(message);
  });

  it('should explain every option', () => {
    for (const option of ['dir', 'state', 'for', 'workers', 'resync', 'grace', 'json', 'view', 'no-view', 'port', 'help'])
      expect(USAGE).toContain(`--${option} `);
  });
});
