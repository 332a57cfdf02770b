import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { PAGE_MODULE, pageModule } from '../../../support/view-page.js';
import { page } from '../../../../lib/view/page/page.js';

it('should be what its sources make; else `npm run build:page` makes it anew', async () => {
  expect(readFileSync(PAGE_MODULE, 'utf8')).toBe(await pageModule());
});

it('should have one style, one script and one place for its data, so that a policy can name them by their hashes', () => {
  expect(page.match(/<style/g)).toHaveLength(1);
  expect(page.match(/<script>/g)).toHaveLength(1);
  expect(page.match(/__VIEW__/g)).toHaveLength(1);
  expect(page).not.toMatch(/<[^>]*\s(style|on\w+)=/);
});

it('should ask for nothing elsewhere, and make no markup of text', () => {
  const addresses = [...page.matchAll(/https?:\/\/[^\s"'`)]+/g)].map(([address]) => address);
  expect(new Set(addresses)).toEqual(new Set(['http://www.w3.org/2000/svg']));
  expect(page).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function|@import|url\(/);
});
