import { finalize, type Observable, Subject, Subscription } from 'rxjs';
import type { Action, Answer } from '../api.js';
import { find, setAttribute, setHidden, setText } from './dom.js';
import { errorText } from './format.js';
import type { Server } from './server.js';
import type { Tone } from './tone.js';

interface Question {
  readonly title: (what: string) => string;
  readonly text: string;
  readonly go: string;
  readonly busy: string;
  readonly done: string;
}

const LOOP = 'the whole loop';

const QUESTIONS: Readonly<Record<Action, Question>> = {
  run: {
    title: (what) => `Run ${what} now?`,
    text: 'It runs next, past a pause after a failure, a rest and a full queue; never twice at once.',
    go: 'Run now',
    busy: 'It is about to run; this waits for how it ends …',
    done: 'It has run.',
  },
  pause: {
    title: (what) => `Pause ${what}?`,
    text: 'What runs may end; nothing of it starts until it is resumed, and what comes meanwhile is remembered. Only this process knows of the pause.',
    go: 'Pause',
    busy: 'Pausing …',
    done: 'It is paused.',
  },
  resume: {
    title: (what) => `Resume ${what}?`,
    text: 'What came or fell due meanwhile is ready at once.',
    go: 'Resume',
    busy: 'Resuming …',
    done: 'It is resumed.',
  },
  discard: {
    title: (what) => `Discard what ${what} has to do?`,
    text: 'Its retries, its wake-up and what came for it are forgotten. A run that is on goes on, and a pause stays.',
    go: 'Discard',
    busy: 'Discarding …',
    done: 'What it had to do is forgotten.',
  },
};

/** Asks for a reason before something is changed, and says what became of it. */
export class Ask {
  /** Emits when something has been changed, or may have been. */
  readonly answered: Observable<void>;
  readonly #answered = new Subject<void>();
  readonly #dialog = find('ask', HTMLDialogElement);
  readonly #title = find('ask-title', HTMLElement);
  readonly #what = find('ask-what', HTMLElement);
  readonly #label = find('ask-label', HTMLElement);
  readonly #why = find('ask-why', HTMLInputElement);
  readonly #answer = find('ask-answer', HTMLElement);
  readonly #cancel = find('ask-cancel', HTMLButtonElement);
  readonly #go = find('ask-go', HTMLButtonElement);
  #asked: { readonly action: Action; readonly id: string | undefined } | undefined;
  #waiting = new Subscription();

  /** @param server - of the controller that is shown just now */
  constructor(readonly server: () => Server) {
    this.answered = this.#answered.asObservable();
    this.#cancel.addEventListener('click', () => {
      this.#dialog.close();
    });
    this.#dialog.addEventListener('close', () => {
      this.#waiting.unsubscribe();
      this.#asked = undefined;
    });
    find('ask-form', HTMLFormElement).addEventListener('submit', (event) => {
      event.preventDefault();
      if (this.#asked !== undefined) this.#send(this.#asked);
    });
  }

  /** @param id - none: the whole loop */
  open(action: Action, id: string | undefined): void {
    const { title, text, go } = QUESTIONS[action];
    this.#asked = { action, id };
    setText(this.#title, title(id ?? LOOP));
    setText(this.#what, text);
    this.#why.value = '';
    setHidden(this.#label, false);
    this.#say('', undefined);
    setText(this.#go, go);
    setText(this.#cancel, 'Cancel');
    setHidden(this.#go, false);
    this.#go.disabled = false;
    this.#dialog.showModal();
    this.#why.focus();
  }

  #send(asked: { readonly action: Action; readonly id: string | undefined }): void {
    const { action, id } = asked;
    const why = this.#why.value.trim();
    this.#say(QUESTIONS[action].busy, undefined);
    this.#go.disabled = true;
    setText(this.#cancel, 'Close');
    this.#waiting = this.server()
      .ask(action, { ...(id !== undefined && { id }), ...(why !== '' && { why }) })
      .pipe(
        finalize(() => {
          this.#answered.next();
        }),
      )
      .subscribe({
        next: (answer) => {
          this.#end(...inWords(answer));
        },
        error: (error: unknown) => {
          this.#end(error instanceof Error ? error.message : String(error), 'bad');
        },
      });
  }

  #end(text: string, tone: Tone): void {
    this.#say(text, tone);
    setHidden(this.#label, true);
    setHidden(this.#go, true);
    this.#cancel.focus();
  }

  #say(text: string, tone: Tone | undefined): void {
    setText(this.#answer, text);
    setAttribute(this.#answer, 'data-tone', tone);
  }
}

function inWords({ action, outcome, error }: Answer): [string, Tone] {
  switch (outcome) {
    case 'succeeded':
      return ['It has run, and succeeded.', 'good'];
    case 'failed':
      return [`It did not succeed: ${error === undefined ? 'nothing is said of why' : errorText(error)}`, 'bad'];
    case 'pending':
      return ['It has not succeeded yet. It goes on, and so do its retries.', 'waiting'];
    case 'done':
      return [QUESTIONS[action].done, 'good'];
  }
}
