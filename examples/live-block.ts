import { auditTime, Subject } from 'rxjs';

/** How often, in ms, the terminal changes at most. */
const FRAME = 100;
/** Terminals that know it show all between the two at once; others ignore it. */
const [BEGIN, END] = ['\x1b[?2026h', '\x1b[?2026l'];

/** Prints lines; on a terminal a block of lines, made anew for each frame, stays below them. */
export class LiveBlock {
  readonly #dirty = new Subject<void>();
  #lines: string[] = [];
  /** How many lines of the block stand on the terminal. */
  #height = 0;

  /**
   * @param draw - the block, for a terminal of this size
   */
  constructor(
    readonly out: NodeJS.WriteStream,
    readonly draw: (size: { readonly columns: number; readonly rows: number }) => readonly string[],
  ) {
    this.#dirty.pipe(auditTime(FRAME)).subscribe(() => {
      this.flush();
    });
  }

  print(line: string): void {
    if (this.out.isTTY) {
      this.#lines.push(line);
      this.#dirty.next();
    } else {
      this.out.write(`${line}\n`);
    }
  }

  /** What the block shows has changed. */
  refresh(): void {
    if (this.out.isTTY) this.#dirty.next();
  }

  /** In one write, the block over itself: nothing flickers. */
  flush(): void {
    if (!this.out.isTTY) return;
    const block = this.draw(this.out);
    const up = this.#height > 0 ? `\x1b[${this.#height}A` : '';
    this.out.write(`${BEGIN}${up}\r\x1b[0J${[...this.#lines, ...block].map((line) => `${line}\n`).join('')}${END}`);
    this.#lines = [];
    this.#height = block.length;
  }
}
