// A thread of the core in Node.

import { parentPort } from "node:worker_threads";
import { serve, type ThreadStart } from "./thread.js";

parentPort?.once("message", (start: ThreadStart) =>
  serve(start, () => parentPort?.postMessage("ready")),
);
