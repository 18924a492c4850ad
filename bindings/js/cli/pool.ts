// Models that work on lots of texts side by side: one in this thread, or one in each of several others.

import { Worker } from "node:worker_threads";
import type { Failure } from "../errors.js";
import {
  type LoadOptions,
  Model,
  RelataError,
  type SearchOptions,
  type Sequence,
} from "../node.js";

/** What a text came to: the best sequence, all of them if they were asked for, or why there is none. */
export interface Outcome {
  readonly text: string;
  readonly score: number;
  readonly finishReason: string;
  readonly sequences: readonly Pick<Sequence, "text" | "score" | "finishReason">[];
  readonly error: Failure | null;
  /** Whether it was drawn by a seed of its own, so that no other run gives it again. */
  readonly isDrawn: boolean;
}

/** How a model is loaded. */
export type Loading = Pick<LoadOptions, "dtype" | "threads">;

/** What a worker is told at its start. */
export interface Setup {
  readonly folder: string;
  readonly loading: Loading;
  readonly search: SearchOptions;
}

export type Answer = { outcomes: readonly Outcome[] } | { failure: Failure };

export interface Pool {
  /** How many lots can be under way at once. */
  readonly width: number;
  run(texts: readonly string[]): Promise<readonly Outcome[]>;
  close(): void;
}

export function failureOf({ code, where, message }: RelataError): Failure {
  return { code, where, message };
}

/** Runs a lot with one model. */
export async function outcomesOf(
  model: Model,
  texts: readonly string[],
  search: SearchOptions,
): Promise<Outcome[]> {
  const results = await model.run(texts, search);
  return results.map(({ text, score, finishReason, sequences, error, stats }) => ({
    ...{ text, score, finishReason, error: error && failureOf(error) },
    isDrawn: stats.seed !== null && search.seed === undefined,
    sequences: sequences.map((one) => ({
      ...{ text: one.text, score: one.score, finishReason: one.finishReason },
    })),
  }));
}

export async function openPool(setup: Setup, count: number): Promise<Pool> {
  if (count === 1) {
    const model = await Model.load(setup.folder, setup.loading);
    return {
      width: 1,
      run: (texts) => outcomesOf(model, texts, setup.search),
      close: () => model.dispose(),
    };
  }
  const threads = Array.from({ length: count }, () => new Thread(setup));
  const close = () => {
    for (const thread of threads) thread.close();
  };
  try {
    await Promise.all(threads.map((thread) => thread.ready));
  } catch (error) {
    close();
    throw error;
  }
  // A lot goes to the thread with the fewest before it.
  const run = (texts: readonly string[]) =>
    threads.reduce((a, b) => (b.waiting < a.waiting ? b : a)).run(texts);
  return { width: count, run, close };
}

class Thread {
  /** Once its model is loaded. */
  readonly ready: Promise<unknown>;
  readonly #worker: Worker;
  readonly #waiting: { resolve(answer: Answer): void; reject(error: unknown): void }[] = [];
  #failure: unknown;

  constructor(setup: Setup) {
    this.#worker = new Worker(new URL("./line-worker.js", import.meta.url), { workerData: setup });
    this.#worker.on("message", (answer: Answer) => this.#waiting.shift()?.resolve(answer));
    this.#worker.on("error", (error) => this.#fail(error));
    this.#worker.on("exit", () => this.#fail(new Error("a worker has ended too early")));
    // Its first answer says whether the model is there.
    this.ready = this.#answer();
    this.ready.catch(() => {});
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  run(texts: readonly string[]): Promise<readonly Outcome[]> {
    const answer = this.#answer();
    this.#worker.postMessage(texts);
    return answer;
  }

  close(): void {
    void this.#worker.terminate();
  }

  async #answer(): Promise<readonly Outcome[]> {
    if (this.#failure !== undefined) throw this.#failure;
    const answer = await new Promise<Answer>((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
    if ("outcomes" in answer) return answer.outcomes;
    const { code, where, message } = answer.failure;
    throw new RelataError(code, where, message);
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}
