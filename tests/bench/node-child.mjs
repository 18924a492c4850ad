// A process that one engine runs in; its parent is hosts.mjs.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { open } from "./inside.mjs";

const config = JSON.parse(process.argv[2]);
config.places.bytes = (place) => readFile(place);
config.places.onnxFile = (name, native) => {
  const path = join(config.places.onnx, name);
  return native ? path : readFile(path);
};
const peak = () => process.resourceUsage().maxRSS / 1024;
const { start, answer } = await open(config, peak);
process.on("message", async (message) => process.send(await answer(message)));
process.send(start);
