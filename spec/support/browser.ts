import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Chromium as the system has it; it knocks at no server of its maker. Where there is none, it rejects and says what to do. */
export async function launched(): Promise<Browser> {
  const executablePath = process.env['CHROMIUM'] ?? PATHS.find((path) => existsSync(path));
  if (executablePath === undefined) throw new Error('There is no Chromium here: apt-get install chromium, or say by CHROMIUM where it is');
  return chromium.launch({
    executablePath,
    args: [
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      ...['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
      ...['--disable-component-update', '--disable-sync', '--force-color-profile=srgb'],
    ],
  });
}

/** What a page should not do: ask anybody but `url` for something, or complain. */
export class Complaints {
  readonly elsewhere: string[] = [];
  readonly errors: string[] = [];

  constructor(page: Page, url: string) {
    page.on('request', (request) => {
      if (!request.url().startsWith(url) && !request.url().startsWith('data:')) this.elsewhere.push(request.url());
    });
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) this.errors.push(message.text());
    });
    page.on('pageerror', ({ message }) => this.errors.push(message));
  }
}
