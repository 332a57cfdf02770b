import { Controller, noopLogger, observability } from 'kreconciler';
import { started } from '../support/started.js';
import { scheduled } from './scheduled.js';

const begin = started(`
A clock: certificates are looked at each second, and renewed when they are due.

  npm run example:cron`);
const signal = begin();

const expiry = new Map(['web', 'api', 'worker'].map((name, index) => [name, Date.now() + 700 * (index + 1)]));

const controller = new Controller(
  { leaderElectionEnabled: false, observability: observability({ logger: noopLogger }) },
  (id) => {
    const left = (expiry.get(id) ?? 0) - Date.now();
    if (left > 0) return;
    expiry.set(id, Date.now() + 1_500);
    console.log(`${id} is renewed, ${-left} ms after it was due`);
  },
  { renewals: scheduled({ pattern: '* * * * * *', options: { timezone: 'Europe/Berlin' }, list: () => [...expiry.keys()] }) },
);
await controller.run(signal);
