// A model in a worker, behind the same interface as an engine in this thread.

import { disposedError, type Failure, RelataError, scriptError } from "./errors.js";
import type { Watch } from "./load.js";
import type {
  Backend,
  CallContext,
  CallRequest,
  Calls,
  Method,
  Reply,
  Request,
  Results,
} from "./protocol.js";
import type { ModelInfo, Step } from "./types.js";

/** Replies in order of arrival for one reader, until an error ends them. */
class Inbox {
  readonly #replies: Reply[] = [];
  #error: { reason: unknown } | undefined;
  #wake: (() => void) | undefined;

  put(reply: Reply): void {
    this.#replies.push(reply);
    this.#wake?.();
  }

  /** What has not been read is lost. */
  fail(reason: unknown): void {
    this.#error ??= { reason };
    this.#wake?.();
  }

  /** Throws what has ended it. */
  check(): void {
    if (this.#error !== undefined) throw this.#error.reason;
  }

  async next(): Promise<Reply> {
    for (;;) {
      this.check();
      const reply = this.#replies.shift();
      if (reply !== undefined) return reply;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

export type LoadRequest = Omit<Extract<Request, { type: "load" }>, "type">;

export class RemoteEngine implements Backend {
  readonly info: ModelInfo;
  readonly #connection: Connection;

  private constructor(connection: Connection, info: ModelInfo) {
    this.#connection = connection;
    this.info = info;
  }

  static async load(request: LoadRequest, { signal, onProgress }: Watch): Promise<RemoteEngine> {
    const connection = new Connection();
    const inbox = connection.open(0);
    const abort = () => inbox.fail(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      connection.send({ type: "load", ...request });
      for (;;) {
        const reply = await inbox.next();
        if (reply.type === "progress") onProgress?.(reply.progress);
        else if (reply.type === "failed") throw revived(reply.failure);
        else if (reply.type === "loaded") return new RemoteEngine(connection, reply.info);
      }
    } catch (error) {
      connection.end(error);
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
      connection.close(0);
    }
  }

  async *call<M extends Method>(
    method: M,
    args: Calls[M],
    { signal, ask }: CallContext = {},
  ): AsyncGenerator<Step, Results[M], undefined> {
    if (signal?.aborted) throw signal.reason;
    const { id, inbox } = this.#connection.openNext();
    const abort = () => inbox.fail(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    let running = true;
    try {
      this.#connection.send({ type: "call", id, method, args } as CallRequest);
      for (;;) {
        const reply = await inbox.next();
        if (reply.type === "steps") {
          for (const step of reply.steps) {
            yield step;
            inbox.check();
          }
          continue;
        }
        if (reply.type === "ask") {
          const allowed = (await ask?.(reply.open)) ?? [];
          this.#connection.send({ type: "allow", id, allowed });
          continue;
        }
        running = false;
        if (reply.type === "failed") throw revived(reply.failure);
        if (reply.type === "done") return reply.result as Results[M];
      }
    } finally {
      signal?.removeEventListener("abort", abort);
      this.#connection.close(id);
      if (running) this.#connection.send({ type: "cancel", id });
    }
  }

  dispose(): void {
    this.#connection.end(disposedError());
  }
}

function revived({ code, where, message }: Failure): RelataError {
  return new RelataError(code, where, message);
}

/** The worker and who waits for its replies. */
class Connection {
  readonly #worker: Worker;
  readonly #inboxes = new Map<number, Inbox>();
  #lastId = 0;
  #ended: { reason: unknown } | undefined;

  constructor() {
    this.#worker = new Worker(new URL("./worker.js", import.meta.url), {
      type: "module",
      name: "relata",
    });
    this.#worker.onmessage = ({ data: reply }: MessageEvent<Reply>) => {
      const id = "id" in reply ? reply.id : 0;
      this.#inboxes.get(id)?.put(reply);
    };
    this.#worker.onerror = (event) => {
      event.preventDefault?.();
      this.end(
        event.message
          ? new RelataError("internal", "worker", `the worker failed: ${event.message}`)
          : scriptError("worker.js"),
      );
    };
    this.#worker.onmessageerror = () => {
      this.end(new RelataError("internal", "worker", "a message of the worker could not be read"));
    };
  }

  open(id: number): Inbox {
    const inbox = new Inbox();
    if (this.#ended !== undefined) inbox.fail(this.#ended.reason);
    this.#inboxes.set(id, inbox);
    return inbox;
  }

  openNext(): { id: number; inbox: Inbox } {
    this.#lastId += 1;
    return { id: this.#lastId, inbox: this.open(this.#lastId) };
  }

  close(id: number): void {
    this.#inboxes.delete(id);
  }

  send(request: Request): void {
    if (this.#ended === undefined) this.#worker.postMessage(request);
  }

  /** Stops the worker; everyone waiting gets the reason, and so does everyone who still comes. */
  end(reason: unknown): void {
    if (this.#ended !== undefined) return;
    this.#ended = { reason };
    this.#worker.terminate();
    for (const inbox of this.#inboxes.values()) inbox.fail(reason);
  }
}
