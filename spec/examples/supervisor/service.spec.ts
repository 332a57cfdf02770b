import { describe, expect, it } from 'vitest';
import { parseService as parse } from '../../../examples/supervisor/service.js';

const parseService = (text: string, folder = '/srv/one') => parse(text, folder);

describe('parseService', () => {
  it('should need no more than a command', () => {
    expect(parseService('{ "command": ["node"] }')).toMatchObject({ command: ['node'], replicas: 1, env: {} });
  });

  it.each([
    ['', 'Expected the file to be JSON: Unexpected end of JSON input'],
    ['{ "command": [', 'Expected the file to be JSON: '],
    ['[]', 'Expected `the file` to be an object such as { "command": ["node", "web.js"] }, got `[]` (object)'],
    ['null', 'Expected `the file` to be an object such as { "command": ["node", "web.js"] }, got `null` (object)'],
    ['{}', 'Expected `command` to be a list of strings, the program first, got nothing'],
    ['{ "command": "node web.js" }', 'Expected `command` to be a list of strings, the program first, got `node web.js`'],
    ['{ "command": [] }', 'Expected `command` to be a list of strings, the program first, got `[]` (object)'],
    ['{ "command": [""] }', 'Expected `command` to be a list of strings, the program first, got `[""]` (object)'],
    ['{ "command": ["a", 1] }', 'Expected `command` to be a list of strings, the program first, got `["a",1]` (object)'],
    ['{ "command": ["a\\u0000"] }', 'Expected `command` to be a list of strings, the program first, got '],
    ['{ "command": ["a"], "replicas": -1 }', 'Expected `replicas` to be an integer from 0 to 100, got `-1` (number)'],
    ['{ "command": ["a"], "replicas": 1.5 }', 'Expected `replicas` to be an integer from 0 to 100, got `1.5` (number)'],
    ['{ "command": ["a"], "replicas": 101 }', 'Expected `replicas` to be an integer from 0 to 100, got `101` (number)'],
    ['{ "command": ["a"], "replicas": "2" }', 'Expected `replicas` to be an integer from 0 to 100, got `2`'],
    ['{ "command": ["a"], "env": [] }', 'Expected `env` to be an object of strings, got `[]` (object)'],
    ['{ "command": ["a"], "env": { "PORT": 80 } }', 'Expected `env.PORT` to be a string, got `80` (number)'],
    ['{ "command": ["a"], "env": { "": "" } }', 'Expected `the names in env` to be non-empty and without `=`, got ``'],
    ['{ "command": ["a"], "env": { "A=B": "" } }', 'Expected `the names in env` to be non-empty and without `=`, got `A=B`'],
    ['{ "command": ["a"], "replica": 2 }', 'Expected `the fields` to be out of command, replicas, env, got `replica`'],
    ['{ "command": ["a"], "__proto__": {} }', 'Expected `the fields` to be out of command, replicas, env, got `__proto__`'],
  ])('should say what is wrong with %s', (text, message) => {
    expect(() => parseService(text)).toThrow(TypeError);
    expect(() => parseService(text)).toThrow(message);
  });

  it.each([
    ['the number of replicas', { replicas: 7 }, false],
    ['the order of the variables', { env: { B: '2', A: '1' } }, false],
    ['the command', { command: ['node', 'b.js'] }, true],
    ['where an argument ends', { command: ['node a.js'] }, true],
    ['a variable', { env: { A: '1', B: '3' } }, true],
    ['a variable more', { env: { A: '1', B: '2', C: '' } }, true],
  ])('should give another version only to what a running process cannot take over: %s', (_, change, isOther) => {
    const service = { command: ['node', 'a.js'], replicas: 1, env: { A: '1', B: '2' } };
    const versionOf = (file: object) => parseService(JSON.stringify(file)).version;
    expect(versionOf({ ...service, ...change }) !== versionOf(service)).toBe(isOther);
  });

  it('should give another version to the same command in another folder', () => {
    const text = '{ "command": ["node", "web.js"] }';
    expect(parseService(text, '/srv/two').version).not.toBe(parseService(text, '/srv/one').version);
    expect(parseService(text, '/srv/two').folder).toBe('/srv/two');
  });
});
