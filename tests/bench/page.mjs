// The page that one engine runs in; its driver is hosts.mjs.

import { open } from "./inside.mjs";

let answer;

export async function start(config) {
  config.places.bytes = async (place) => new Uint8Array(await (await fetch(place)).arrayBuffer());
  config.places.onnxFile = (name) => config.places.bytes(`${config.places.onnx}/${name}`);
  const opened = await open(config, () => null);
  answer = opened.answer;
  return opened.start;
}

export const ask = (message) => answer(message);
