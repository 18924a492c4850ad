// A thread of the core in a page's worker.

import { serve, type ThreadStart } from "./thread.js";

addEventListener("message", ({ data }: MessageEvent<ThreadStart>) =>
  serve(data, () => postMessage("ready")),
);
