import { catchError, EMPTY, fromEvent, type Observable, merge, Subject, tap } from 'rxjs';
import { find, setHidden, setText } from './dom.js';
import { ids } from './ids.js';
import { loop } from './loop.js';
import { news } from './news.js';
import { one } from './one.js';
import type { Router } from './route.js';
import { pageData } from './server.js';
import { messageOf, Shell } from './shell.js';

// A proxy may have put the page elsewhere than the server knows, so its own address counts.
const shell = new Shell(location.pathname.replace(/\/*$/, '/'), pageData().controllers);
const stepped = new Subject<string>();

merge(
  loop(shell),
  ids(shell),
  one(shell, stepped),
  news(shell, (id) => stepped.next(id)),
  followed(shell.router),
)
  .pipe(
    catchError((error: unknown) => {
      const trouble = find('trouble', HTMLElement);
      setHidden(trouble, false);
      setText(trouble, `The page has a fault: ${messageOf(error)}. Load it again.`);
      return EMPTY;
    }),
  )
  .subscribe();

/** Whoever follows a link to an id keeps the filter that is set by then. */
function followed(router: Router): Observable<unknown> {
  return fromEvent<MouseEvent>(document, 'click').pipe(
    tap((event) => {
      const { button, ctrlKey, metaKey, shiftKey, altKey, target } = event;
      if (button !== 0 || ctrlKey || metaKey || shiftKey || altKey || !(target instanceof Element)) return;
      const link = target.closest<HTMLAnchorElement>('a[data-id], a.skip');
      if (link === null) return;
      event.preventDefault();
      const id = link.dataset['id'];
      if (id === undefined) find('ids-title', HTMLElement).focus();
      else router.go({ id });
    }),
  );
}
