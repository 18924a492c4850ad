// `npm run bench`: Relata against its peers, on the same random weights, inputs and machine, with one thread each.
//
//   npm run bench -- [--quick] [--hosts node24,chromium,node20] [--dtypes int8,f32] [--rounds 7] [--out FILE]
//
// Within a host and a dtype all engines are open at once and take turns, one command at a time; the machine's limits are
// probed in the same turns. Every single time goes to FILE as a JSON line, medians and ratios to the terminal.
// --quick: int8 and a source of 128 tokens, in Node 24 and, where it is installed and there is time left, Chromium. It ends
// within three minutes, of which the first run spends two on making what it needs; a busy machine takes fewer turns.

import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { capture, main, root, SetupError, say, which } from "../../tools/process.mjs";
import { chromiumHost, nodeHost } from "./hosts.mjs";
import { kPeers, prepare } from "./prepare.mjs";
import { report } from "./report.mjs";

const kNewTokens = 33;
/** V8 compiles hot code well only after a while. */
const kWarmUps = 2;
/** Of a quick run, in seconds since its start: no host is opened and no turn begun after these. */
const kQuickHosts = 80;
const kQuickTurns = 130;

const kLimits = { name: "limits", engine: "limits" };
const kRelata = { name: "relata", engine: "relata" };
const kOnnxruntimeWeb = { name: "onnxruntime-web", engine: "onnxruntime" };
const kOnnxruntimeNode = { name: "onnxruntime-node", engine: "onnxruntime", native: true };
const kTransformers = { name: "transformers.js", engine: "transformers" };
const kNodeEngines = [kLimits, kRelata, kOnnxruntimeWeb, kOnnxruntimeNode];
const kEngines = {
  node20: kNodeEngines,
  node24: kNodeEngines,
  chromium: [kLimits, kRelata, kOnnxruntimeWeb, kTransformers],
};

/** The processor's time so far in seconds: all that was used, by anyone. Null where the system does not say. */
function busySeconds() {
  if (process.platform !== "linux") return null;
  const [user, nice, system, , , irq, softirq] = readFileSync("/proc/stat", "utf8")
    .split("\n")[0]
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq) / 100;
}

/** Opens every engine `rounds` times, in turn, and keeps the last ones. */
async function openAll(host, engines, dtype, rounds, record) {
  const open = [];
  for (let round = 0; round < rounds; round++) {
    for (const { name, engine, native } of engines) {
      const last = round === rounds - 1;
      if (engine === "limits" && !last) continue;
      const opened = await host.open(engine, { dtype, native });
      if (engine !== "limits") record({ type: "start", engine: name, ...opened.start });
      if (last) open.push({ name, engine, ...opened });
      else await opened.close();
    }
  }
  return open;
}

/** One turn of every engine: a text of each length. */
async function takeTurns(open, sources, record) {
  for (const { name, engine, ask } of open) {
    if (engine === "limits") {
      record({ type: "limits", limits: await ask({ command: "measure" }) });
      continue;
    }
    for (const source of sources) {
      const made = await ask({ command: "generate", source, count: kNewTokens });
      record({ type: "generate", engine: name, source, ...made });
    }
    record({ type: "peak", engine: name, peakMb: await ask({ command: "peak" }) });
  }
}

async function compare(host, engines, { dtype, sources, starts, rounds, isQuick }, record) {
  const open = await openAll(host, engines, dtype, starts, record);
  for (let round = 0; round < kWarmUps; round++) await takeTurns(open, sources, () => {});
  const [busy, started] = [busySeconds(), performance.now()];
  for (let round = 0; round < rounds; round++) {
    if (isQuick && performance.now() > kQuickTurns * 1e3 && round > 0) break;
    await takeTurns(open, sources, record);
  }
  // Of the time used, ours is one core.
  if (busy !== null) {
    const cores = (busySeconds() - busy) / ((performance.now() - started) / 1e3);
    record({ type: "others", cores: Math.max(0, cores - 1) });
  }
  for (const { close } of open) await close();
}

/** What a browser downloads besides the model, each file compressed on its own. */
function downloads(peers) {
  const at = (...path) => join(peers, "node_modules", ...path);
  const runtime = (folder, name) =>
    [`${name}.mjs`, `${name}.wasm`].map((file) => join(folder, file));
  const transformers = at("@huggingface/transformers");
  const groups = {
    // For a folder of Hugging Face's kind: one build of the core, and nothing of Node's.
    relata: [
      ...["index", "worker", "model", "engine", "tokenizers", "source", "hugging-face"],
      "wasm/relata",
    ]
      .map((name) => join(root, "dist/package", `${name}.js`))
      .concat(join(root, "dist/package/wasm/relata-relaxed.wasm")),
    "onnxruntime-web": [
      at("onnxruntime-web/dist/ort.wasm.min.mjs"),
      ...runtime(at("onnxruntime-web/dist"), "ort-wasm-simd-threaded"),
    ],
    "transformers.js": [
      join(transformers, "dist/transformers.min.js"),
      // The runtime it asks the server for.
      ...runtime(
        join(transformers, "node_modules/onnxruntime-web/dist"),
        "ort-wasm-simd-threaded.asyncify",
      ),
    ],
  };
  return Object.entries(groups).map(([engine, files]) => {
    const bytes = files.map((file) => readFileSync(file));
    const sum = (lengths) => lengths.reduce((total, length) => total + length, 0);
    return {
      type: "download",
      engine,
      raw: sum(bytes.map(({ length }) => length)),
      gzip: sum(bytes.map((part) => gzipSync(part, { level: 9 }).length)),
    };
  });
}

function optionsOf(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      quick: { type: "boolean", default: false },
      hosts: { type: "string" },
      dtypes: { type: "string" },
      sources: { type: "string" },
      rounds: { type: "string", default: "7" },
      out: { type: "string" },
    },
  });
  const quickHosts = which("chromium") ? "node24,chromium" : "node24";
  const hosts = (values.hosts ?? (values.quick ? quickHosts : "node24,chromium,node20")).split(",");
  for (const host of hosts) {
    if (!Object.hasOwn(kEngines, host))
      throw new SetupError(`no host is named ${host}: ${Object.keys(kEngines).join(", ")}`);
  }
  const date = new Date().toISOString();
  return {
    hosts,
    dtypes: (values.dtypes ?? (values.quick ? "int8" : "int8,f32")).split(","),
    sources: (values.sources ?? (values.quick ? "128" : "32,128,512")).split(",").map(Number),
    rounds: Number(values.rounds),
    starts: values.quick ? 1 : Number(values.rounds),
    isQuick: values.quick,
    date,
    out: values.out ?? join(root, "build/bench", `${date.slice(0, 19).replaceAll(":", "")}.jsonl`),
  };
}

await main(async (argv) => {
  const options = optionsOf(argv);
  const made = await prepare();
  const records = [];
  mkdirSync(dirname(options.out), { recursive: true });
  writeFileSync(options.out, "");
  const record = (line) => {
    records.push(line);
    appendFileSync(options.out, `${JSON.stringify(line)}\n`);
  };
  record({
    type: "run",
    date: options.date,
    command: ["npm run bench --", ...argv].join(" "),
    machine: `${cpus().length} x ${cpus()[0]?.model}, ${Math.round(totalmem() / 2 ** 30)} GB`,
    commit: capture(["git", "rev-parse", "--short", "HEAD"], { cwd: root }).output,
    peers: kPeers,
  });
  for (const line of downloads(made.peers)) record(line);
  for (const name of options.hosts) {
    if (options.isQuick && performance.now() > kQuickHosts * 1e3 && name !== options.hosts[0]) {
      say(`no time left for ${name}`);
      continue;
    }
    const host = name === "chromium" ? await chromiumHost(made) : nodeHost(made.nodes[name], made);
    record({ type: "host", host: name, version: await host.version() });
    for (const dtype of options.dtypes) {
      say(`${name}, ${dtype}`);
      const group = (line) => record({ host: name, dtype, ...line });
      await compare(host, kEngines[name], { ...options, dtype }, group);
    }
    await host.close();
  }
  console.log(report(records));
  say(`every time is in ${relative(process.cwd(), options.out)}`);
});
