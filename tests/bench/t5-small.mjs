// A model of t5-small's shape with random weights, as files by name: what it says means nothing, what it costs does.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

process.env.RELATA_ROOT ??= join(dirname(fileURLToPath(import.meta.url)), "../..");
export const { letterTokenizer, lettersOf } = await import("../package/fixtures.mjs");

export const shapes = JSON.parse(readFileSync(new URL("shapes.json", import.meta.url), "utf8"));
const config = shapes["t5-small"];
const { vocab_size: vocabSize, d_model: width, d_ff: feedForward, num_heads: heads } = config;
const [inner, layers] = [heads * config.d_kv, config.num_layers];

/** A text of `count` tokens. */
export const textOf = (count) =>
  lettersOf(Array.from({ length: count }, (_, i) => 10 + ((i * i + 7 * i) % 32000)));

function* tensors() {
  yield ["shared.weight", [vocabSize, width]];
  for (const stack of ["encoder", "decoder"]) {
    const attentions =
      stack === "encoder" ? ["SelfAttention"] : ["SelfAttention", "EncDecAttention"];
    for (let i = 0; i < layers; i++) {
      const layer = `${stack}.block.${i}.layer`;
      for (const [j, attention] of attentions.entries()) {
        for (const part of ["q", "k", "v"])
          yield [`${layer}.${j}.${attention}.${part}.weight`, [inner, width]];
        yield [`${layer}.${j}.${attention}.o.weight`, [width, inner]];
        yield [`${layer}.${j}.layer_norm.weight`, [width]];
      }
      const last = `${layer}.${attentions.length}`;
      yield [`${last}.DenseReluDense.wi.weight`, [feedForward, width]];
      yield [`${last}.DenseReluDense.wo.weight`, [width, feedForward]];
      yield [`${last}.layer_norm.weight`, [width]];
    }
    yield [`${stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight`, [32, heads]];
    yield [`${stack}.final_layer_norm.weight`, [width]];
  }
}

export function t5Small() {
  const header = {};
  let end = 0;
  for (const [name, shape] of tensors()) {
    const bytes = 4 * shape.reduce((a, b) => a * b);
    header[name] = { dtype: "F32", shape, data_offsets: [end, end + bytes] };
    end += bytes;
  }
  const json = new TextEncoder().encode(
    JSON.stringify(header).padEnd(8 * Math.ceil(JSON.stringify(header).length / 8)),
  );
  const file = new Uint8Array(8 + json.length + end);
  new DataView(file.buffer).setBigUint64(0, BigInt(json.length), true);
  file.set(json, 8);
  const values = new Float32Array(file.buffer, 8 + json.length);
  let state = 1;
  for (let i = 0; i < values.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    values[i] = (state / 2 ** 32 - 0.5) * 0.1;
  }
  return {
    "config.json": new TextEncoder().encode(JSON.stringify(config)),
    "tokenizer.json": letterTokenizer(vocabSize),
    "model.safetensors": file,
  };
}
