/**
 * Takes the picture of lib/view/README.md: `npm run screenshot`. The supervisor looks after some services, one of which is flaky and one
 * of which cannot be started, and the page is open for long enough to have something in its charts.
 */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { launched } from '../support/browser.js';
import { Place } from '../support/supervisor.js';
import { until } from '../support/until.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** In seconds. */
const OPEN = Number(process.env['FOR'] ?? 200);
const SERVICES = ['api', 'auth', 'billing', 'cache', 'geo', 'ledger', 'mail', 'reports', 'search', 'web'];

await using place = new Place();
cpSync(join(ROOT, 'examples/supervisor/services'), place.dir, { recursive: true });
for (const [index, id] of SERVICES.entries()) place.write(id, { command: ['sleep', '1000'], replicas: 1 + (index % 3) });
place.write('exporter', { command: ['sh', '-c', 'exit 1'] });
place.write('importer', { command: ['sh', '-c', 'sleep 1; exit 7'] });
place.write('mailer', { command: ['sh', '-c', 'sleep 4; exit 2'], replicas: 2 });

const supervisor = place.supervise('--view', '--port', '0', '--resync', '30', '--workers', '4');
const url = await until('the page is served', () => /http:\/\/127\.0\.0\.1:\d+\//.exec(supervisor.stderr)?.[0], 120_000);
const browser = await launched();
const page = await browser.newPage({ viewport: { width: 1280, height: 1100 }, colorScheme: 'light', bypassCSP: true });
await page.goto(`${url}#/supervisor/exporter`);
// The fonts of most systems look more like this one than like the one that a bare Debian has.
await page.addStyleTag({ content: 'body { font-family: Inter, system-ui, sans-serif; }' });

for (let second = 0; second < OPEN; second++) {
  await pause(1000);
  // An edit stops what runs and starts it anew; there are busy times and quiet ones.
  for (let edit = 0; edit < 2 + Math.sin(second / 20); edit++) {
    const id = SERVICES[(second * 3 + edit) % SERVICES.length] ?? '';
    place.write(id, { command: ['sleep', '1000'], replicas: 1 + (edit % 3), env: { EDIT: `${second} ${edit}` } });
  }
  if (second === OPEN - 40) {
    await page.request.post(`${url}api/supervisor/pause`, {
      headers: { 'x-kreconciler': '1', origin: new URL(url).origin },
      data: { id: 'reports', why: 'the disk is being moved' },
    });
  }
}
await until('the flaky one rests', () => page.locator('#rows tr', { hasText: 'tries again' }).first().isVisible());
await page.evaluate('scrollTo(0, 0), document.activeElement.blur()');
await page.screenshot({ path: join(ROOT, 'lib/view/view.png') });
await browser.close();
