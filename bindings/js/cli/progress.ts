// A progress bar on a terminal, drawn over itself; elsewhere there is none.

const kWidth = 24;
const kRedrawMs = 100;

/** What a bar uses of a stream. */
interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

export class Progress {
  readonly #terminal: Terminal;
  readonly #now: () => number;
  readonly #started: number;
  readonly #first: number;
  #drawn = Number.NEGATIVE_INFINITY;

  /** first: texts that were done before. */
  constructor(terminal: Terminal, first = 0, now = () => performance.now()) {
    this.#terminal = terminal;
    this.#now = now;
    this.#started = now();
    this.#first = first;
  }

  /** total: of all texts, as far as it is known, else null. */
  show(done: number, total: number | null): void {
    if (!this.#terminal.isTTY || this.#now() - this.#drawn < kRedrawMs) return;
    this.#drawn = this.#now();
    const rate = (1000 * (done - this.#first)) / Math.max(1, this.#drawn - this.#started);
    const parts = [`${done} texts`, `${rate.toFixed(1)}/s`];
    if (total !== null && total > 0) {
      const share = Math.min(1, done / total);
      const full = Math.round(share * kWidth);
      parts.unshift(
        `[${"=".repeat(full)}${" ".repeat(kWidth - full)}] ${Math.floor(100 * share)} %`,
      );
      if (rate > 0) parts.push(`${Math.ceil(Math.max(0, total - done) / rate)} s left`);
    }
    this.#terminal.write(`\r\u{1B}[K${parts.join("  ")}`);
  }

  /** Takes the bar away. */
  clear(): void {
    if (this.#terminal.isTTY) this.#terminal.write("\r\u{1B}[K");
    this.#drawn = Number.NEGATIVE_INFINITY;
  }
}
