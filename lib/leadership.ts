import { BehaviorSubject, map, type Observable, type ObservableInput, Subject, Subscription } from 'rxjs';
import { check } from '../operators/check.js';
import type { Term } from './config.js';
import { failed } from './describe-error.js';
import { fromInput } from './from-input.js';

/** A term of this process; its number is `undefined` where the source gives it none. */
interface HeldTerm {
  readonly term: number | undefined;
}

/**
 * Whether this process leads by what `source` says, repetitions left out. Between two terms there is always a loss, whether or
 * not the source says so. What it says while a change is still being announced, because whoever hears of the change makes it say
 * more, takes effect afterwards, and only as far as it still holds.
 */
export class Leadership {
  /** True from the beginning of each term until it is let go of. Errors as the source does, after a loss (L4). */
  readonly leads: Observable<boolean>;
  /** Emits when a term has ended. Whoever must see to something before streams are let go of does so, and calls `letGo`. */
  readonly lost: Observable<void>;
  /** Who holds a term by a source now. Sources are compared by identity, and kept alive by nobody here. */
  static readonly #holders = new WeakMap<object, Leadership>();
  readonly #source: ObservableInput<boolean | Term>;
  readonly #leads = new BehaviorSubject(false);
  readonly #lost = new Subject<void>();
  #wanted: HeldTerm | undefined;
  #held: HeldTerm | undefined;
  #failure: Error | undefined;
  #isTelling = false;
  /** `leads` has said that the last term is over, or there was none. */
  #hasLet = true;

  constructor(source: ObservableInput<boolean | Term>) {
    this.#source = source;
    this.leads = this.#leads;
    this.lost = this.#lost;
  }

  /** The term that is held now; `undefined` while this process does not lead. */
  get term(): HeldTerm | undefined {
    return this.#held;
  }

  /** Whether another one in this process holds a term by the same source. */
  get isHeldElsewhere(): boolean {
    const holder = Leadership.#holders.get(this.#source);
    return holder !== undefined && holder !== this && holder.term !== undefined;
  }

  /** Listens to the source, which is let go by unsubscribing: then the term has ended, and nobody need hear of it. */
  begin(): Subscription {
    const lease = new Subscription(() => {
      this.#held = this.#wanted = undefined;
    });
    const terms = fromInput(this.#source).pipe(map(numbered));
    lease.add(
      terms.subscribe({
        next: (term) => {
          this.#hear(term);
        },
        error: (error: unknown) => {
          this.#failure = failed('The leader source', error);
          this.#hear(undefined);
        },
      }),
    );
    return lease;
  }

  #hear(term: HeldTerm | undefined): void {
    const isNew = term === undefined || term.term !== this.#wanted?.term || this.#wanted === undefined;
    if (isNew) this.#wanted = term;
    if (this.#isTelling) return;
    this.#isTelling = true;
    while (this.#held !== this.#wanted) this.#change();
    this.#isTelling = false;
    if (this.#failure !== undefined) this.#leads.error(this.#failure);
  }

  #change(): void {
    if (this.#held === undefined) {
      this.#held = this.#wanted;
      Leadership.#holders.set(this.#source, this);
      this.#hasLet = false;
      this.#leads.next(true);
    } else {
      this.#held = undefined;
      this.#lost.next();
      this.letGo();
    }
  }

  /** Lets `leads` say that the term has ended, unless it has. */
  letGo(): void {
    if (this.#held !== undefined || this.#hasLet) return;
    this.#hasLet = true;
    this.#leads.next(false);
  }
}

/**
 * Whatever is falsy, also what its type forbids, is not leading: of the two mistakes that is the harmless one. What else is no term is an
 * error, for `{ leading: false }` must not lead.
 *
 * @throws TypeError if it says neither true, false nor a term
 */
function numbered(says: boolean | Term): HeldTerm | undefined {
  if (!says) return undefined;
  if (says === true) return { term: undefined };
  check('leader', says, 'a source of true, false or { term }', typeof says.term === 'number');
  return { term: says.term };
}
