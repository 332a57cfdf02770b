import { Entry } from './entry.js';
import type { History, Log } from './history.js';
import type { Step } from './types.js';
import { Workqueue } from './workqueue.js';

/** An id whose last steps are remembered. */
class RememberedEntry extends Entry {
  log: Log | undefined = undefined;
}

/** What workqueues are made of that write the steps of their ids down in `history`: who remembers nothing pays nothing for it. */
export function remembering(history: History): typeof Workqueue {
  return class extends Workqueue {
    protected override made(id: string, hash: number): Entry {
      return new RememberedEntry(id, hash);
    }

    protected override tell(entry: Entry, step: Step): void {
      history.follow(entry, step);
      super.tell(entry, step);
    }

    protected override becomeIdle(entry: Entry): void {
      super.becomeIdle(entry);
      history.leave(entry);
    }
  };
}
