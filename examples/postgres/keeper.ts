/**
 * Keeps an embedded PostgreSQL server for whoever started this process, and ends with them, however they end: their end of
 * our input closes. It is a process of its own, out of reach of a Ctrl-C in their terminal, because those who work with the
 * database must be able to take their leave of it.
 */
import { once } from 'node:events';
import { database } from './database.js';

const { url, stop } = await database();
console.log(url);
process.stdin.resume();
await once(process.stdin, 'end');
await stop();
process.exit();
