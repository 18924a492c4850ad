// A thread of `relata run --workers`: loads the model, says so, then answers lot by lot.

import { parentPort, workerData } from "node:worker_threads";
import { Model, RelataError } from "../node.js";
import { type Answer, failureOf, outcomesOf, type Setup } from "./pool.js";

const { folder, loading, search } = workerData as Setup;
const post = (answer: Answer) => parentPort?.postMessage(answer);

function postFailure(error: unknown): void {
  post({ failure: failureOf(RelataError.from(error)) });
}

try {
  const model = await Model.load(folder, loading);
  // One lot after the other: answers go by their order.
  let work = Promise.resolve();
  parentPort?.on("message", (texts: readonly string[]) => {
    work = work
      .then(() => outcomesOf(model, texts, search))
      .then((outcomes) => post({ outcomes }))
      .catch(postFailure);
  });
  post({ outcomes: [] });
} catch (error) {
  postFailure(error);
}
