import { NEVER, type Observable } from 'rxjs';

/** An event stream that never says anything and never ends: it keeps a Controller running that has no other. */
export const noopStream: Observable<never> = NEVER;
