import { setAttribute } from './dom.js';
import { format } from './address.js';
import type { Router } from './route.js';

/** Makes `link` open `id`: in its own address for who copies it or opens a tab, and with the filter of the moment for who follows it. */
export function pointTo(link: HTMLAnchorElement, router: Router, id: string): void {
  setAttribute(link, 'href', format({ ...router.now, id }));
  setAttribute(link, 'data-id', id);
}
