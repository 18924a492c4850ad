// Peak memory while a model loads, from the disk and over HTTP, against weights + largest tensor + 64 MB:
//   node tests/bench/load-memory.mjs [FOLDER_OR_FILE ...]
// Without a name, a folder of t5-small's shape (random weights, 242 MB) is made for the run. Needs the built package. Each load runs in a
// process of its own; its memory is the process's peak less what it had before the load.

import { spawn } from "node:child_process";
import {
  createReadStream,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const kAllowance = 64e6;

/** What runs in the process that is measured. */
async function measure(source) {
  const { Model } = await import(pathToFileURL(join(root, "dist/package/node.js")).href);
  const before = process.resourceUsage().maxRSS * 1024;
  const started = performance.now();
  const model = await Model.load(source);
  const ms = performance.now() - started;
  const peak = process.resourceUsage().maxRSS * 1024;
  const largest = Math.max(...model.info.tensors.map(({ bytes }) => bytes));
  const { weightBytes, format } = model.info;
  console.log(JSON.stringify({ format, ms, added: peak - before, peak, largest, weightBytes }));
}

/** A safetensors file of t5-small's shape beside its configuration and a tokenizer of single letters. */
function makeSmall(folder) {
  const [dModel, dFf, inner, vocab, layers] = [512, 2048, 512, 32128, 6];
  const shapes = { "shared.weight": [vocab, dModel] };
  for (const stack of ["encoder", "decoder"]) {
    for (let i = 0; i < layers; i++) {
      const block = `${stack}.block.${i}.layer`;
      const attentions =
        stack === "encoder" ? ["SelfAttention"] : ["SelfAttention", "EncDecAttention"];
      attentions.forEach((name, at) => {
        for (const part of ["q", "k", "v"])
          shapes[`${block}.${at}.${name}.${part}.weight`] = [inner, dModel];
        shapes[`${block}.${at}.${name}.o.weight`] = [dModel, inner];
        shapes[`${block}.${at}.layer_norm.weight`] = [dModel];
      });
      if (i === 0) shapes[`${block}.0.SelfAttention.relative_attention_bias.weight`] = [32, 8];
      shapes[`${block}.${attentions.length}.DenseReluDense.wi.weight`] = [dFf, dModel];
      shapes[`${block}.${attentions.length}.DenseReluDense.wo.weight`] = [dModel, dFf];
      shapes[`${block}.${attentions.length}.layer_norm.weight`] = [dModel];
    }
    shapes[`${stack}.final_layer_norm.weight`] = [dModel];
  }
  const header = {};
  let end = 0;
  for (const [name, shape] of Object.entries(shapes)) {
    const bytes = 4 * shape.reduce((product, size) => product * size, 1);
    header[name] = { dtype: "F32", shape, data_offsets: [end, end + bytes] };
    end += bytes;
  }
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  const file = openSync(join(folder, "model.safetensors"), "w");
  writeSync(file, length);
  writeSync(file, json);
  const values = Float32Array.from({ length: 1 << 18 }, (_, i) => Math.sin(i * 12.9898) * 0.05);
  const piece = Buffer.from(values.buffer);
  for (let at = 0; at < end; at += piece.length)
    writeSync(file, piece, 0, Math.min(piece.length, end - at));
  const config = {
    model_type: "t5",
    vocab_size: vocab,
    d_model: dModel,
    d_kv: 64,
    d_ff: dFf,
    num_heads: 8,
    num_layers: layers,
    feed_forward_proj: "relu",
    relative_attention_num_buckets: 32,
    decoder_start_token_id: 0,
    pad_token_id: 0,
    eos_token_id: 1,
  };
  const entries = Array.from({ length: vocab - 128 }, (_, id) => [
    String.fromCodePoint(0x4e00 + id),
    id,
  ]);
  const model = { type: "BPE", vocab: Object.fromEntries(entries), merges: [] };
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  writeFileSync(join(folder, "tokenizer.json"), JSON.stringify({ model, added_tokens: [] }));
}

/** Serves what lies below a folder, with ranges. */
async function serving(folder, use) {
  const server = createServer((request, response) => {
    const path = join(folder, decodeURIComponent(request.url));
    if (!existsSync(path) || !statSync(path).isFile()) return response.writeHead(404).end();
    const { size } = statSync(path);
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [null, "0", ""];
    const [start, end] = [Number(from), to === "" ? size - 1 : Number(to)];
    const range =
      request.headers.range === undefined
        ? {}
        : { "content-range": `bytes ${start}-${end}/${size}` };
    response.writeHead(request.headers.range === undefined ? 200 : 206, {
      "content-length": end - start + 1,
      ...range,
    });
    return createReadStream(path, { start, end }).pipe(response);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  try {
    return await use(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

function measured(source) {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), "--measure", source], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (text) => {
    output += text;
  });
  return new Promise((done, fail) => {
    child.on("close", (status) =>
      status === 0 ? done(JSON.parse(output)) : fail(new Error(`${source}: status ${status}`)),
    );
  });
}

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

async function report(title, source) {
  const { format, ms, added, largest, weightBytes, peak } = await measured(source);
  const allowed = weightBytes + largest + kAllowance;
  console.log(
    `${title.padEnd(36)} ${format.padEnd(14)} ${(ms / 1000).toFixed(2).padStart(7)} s, load adds ${megabytes(added)} of ${megabytes(allowed)} allowed (weights ${megabytes(weightBytes)}, largest tensor ${megabytes(largest)}); the process's peak is ${megabytes(peak)}`,
  );
  return added <= allowed;
}

if (process.argv[2] === "--measure") {
  await measure(process.argv[3]);
} else {
  const made = process.argv.length > 2 ? null : mkdtempSync(join(tmpdir(), "relata-load-"));
  const sources = made === null ? process.argv.slice(2).map((name) => resolve(name)) : [made];
  let within = true;
  try {
    if (made !== null) makeSmall(made);
    for (const source of sources) {
      const isFolder = statSync(source).isDirectory();
      const name =
        isFolder && readdirSync(source).length > 0 ? `${basename(source)}/` : basename(source);
      within = (await report(`${name} from disk`, source)) && within;
      await serving(join(source, ".."), async (address) => {
        within = (await report(`${name} over HTTP`, `${address}/${name}`)) && within;
      });
    }
  } finally {
    if (made !== null) rmSync(made, { recursive: true });
  }
  process.exitCode = within ? 0 : 1;
}
