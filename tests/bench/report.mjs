// The benchmark's records as tables:  node tests/bench/report.mjs FILE

import { readFileSync } from "node:fs";
import { isMain, main } from "../../tools/process.mjs";

/** Of t5-small: multiply-adds per source token, per pair of them, and per token of a decoding step. */
const kEncodeMacs = 6 * 4 * 512 * 512 + 6 * 2 * 512 * 2048;
const kPairMacs = 6 * 2 * 512;
const kStepMacs = 6 * (6 * 512 * 512 + 2 * 512 * 2048) + 512 * 32128;
/** Numbers in the cross keys and values per source token, in f32; each is a product of 512. */
const kCrossNumbers = 6 * 2 * 512;

export function median(values) {
  const sorted = values
    .filter((value) => value !== null && value !== undefined)
    .sort((a, b) => a - b);
  if (sorted.length === 0) return null;
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export function short(value) {
  if (value === null) return "-";
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export function table(head, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** The least milliseconds that the probed limits allow: all weights read once, every product at the peak rate. */
function bounds(limits, dtype, source) {
  const best = (...names) => Math.max(...names.map((name) => limits[name] ?? 0));
  const float = best("multiply_add", "relaxed_multiply_add") / 2;
  const many = dtype === "f32" ? float : best("dot_rows", "relaxed_dot_rows");
  const one = dtype === "f32" ? float : best("dot_row");
  const bytes = kStepMacs * (dtype === "f32" ? 4 : 1) + kCrossNumbers * 4 * source;
  const step = Math.max(bytes / limits.read / 1e6, kStepMacs / one / 1e6);
  return {
    encode: (kEncodeMacs * source) / many / 1e6 + (kPairMacs * source ** 2) / float / 1e6,
    first: (kCrossNumbers * 512 * source) / many / 1e6 + step,
    step,
  };
}

/** One host and dtype. */
function group(records, host, dtype) {
  const here = records.filter((line) => line.host === host && line.dtype === dtype);
  const of = (type, engine) => here.filter((line) => line.type === type && line.engine === engine);
  const engines = [
    ...new Set(here.filter(({ type }) => type === "start").map((line) => line.engine)),
  ];
  const sources = [
    ...new Set(here.filter(({ type }) => type === "generate").map((line) => line.source)),
  ];
  const limits = {};
  const probes = here.filter(({ type }) => type === "limits").map((line) => line.limits);
  for (const name of Object.keys(probes[0] ?? {}))
    limits[name] = median(probes.map((probe) => probe[name].value));
  const times = (engine, source, part) =>
    median(
      of("generate", engine)
        .filter((line) => line.source === source)
        .map(part),
    );
  const longest = Math.max(...sources);
  const columns = [
    ...sources.map((source) => ({
      head: `encode ${source}`,
      value: (engine) => times(engine, source, (line) => line.encodeMs),
      bound: bounds(limits, dtype, source).encode,
    })),
    {
      // With the cross keys and values.
      head: `first step ${longest}`,
      value: (engine) =>
        times(engine, longest, ({ encodeMs, firstMs }) => encodeMs && firstMs - encodeMs),
      bound: bounds(limits, dtype, longest).first,
    },
    {
      // Both together, for transformers.js does not tell them apart.
      head: `first token ${longest}`,
      value: (engine) => times(engine, longest, ({ firstMs }) => firstMs),
    },
    ...sources.map((source) => ({
      head: `token at ${source}`,
      value: (engine) => times(engine, source, (line) => line.stepMs),
      bound: bounds(limits, dtype, source).step,
    })),
    { head: "loaded", value: (engine) => median(of("start", engine).map((line) => line.loadedMs)) },
    {
      head: "first token after start",
      value: (engine) => median(of("start", engine).map((line) => line.firstTokenMs)),
    },
    {
      head: "peak MB, first token",
      value: (engine) => median(of("start", engine).map((line) => line.firstTokenMb)),
    },
    {
      head: "peak MB, all",
      value: (engine) => Math.max(...of("peak", engine).map((line) => line.peakMb)),
    },
  ];
  return { engines, sources, limits, columns, here };
}

function groupReport(records, host, dtype) {
  const { engines, sources, limits, columns, here } = group(records, host, dtype);
  const cell = (column, engine) => {
    const [value, ours] = [column.value(engine), column.value("relata")];
    if (engine === "relata" || value === null || ours === null) return short(value);
    return `${short(value)} (${(value / ours).toFixed(1)}x)`;
  };
  const rows = engines.map((engine) => [engine, ...columns.map((column) => cell(column, engine))]);
  rows.push(["bound", ...columns.map(({ bound }) => short(bound ?? null))]);
  const units = here.find(({ type }) => type === "limits")?.limits ?? {};
  const said = Object.entries(limits).map(
    ([name, value]) => `${name.replaceAll("_", " ")} ${short(value)} ${units[name].unit}`,
  );
  const others = here.find(({ type }) => type === "others");
  const busy = others ? `; others used ${others.cores.toFixed(1)} cores` : "";
  const written = engines.map((engine) =>
    JSON.stringify(
      sources.map(
        (source) =>
          here.find(
            (line) => line.type === "generate" && line.engine === engine && line.source === source,
          )?.tokens,
      ),
    ),
  );
  const same = new Set(written).size === 1 ? "All wrote the same tokens." : "";
  const turns = here.filter(({ type }) => type === "limits").length;
  return [
    `\n${host}, ${dtype} (ms, medians of ${turns} turns; in brackets how many times Relata's):\n`,
    table(["", ...columns.map(({ head }) => head)], rows),
    `\nLimits here: ${said.join(", ")}${busy}. ${same}`,
  ].join("\n");
}

/** The line that a quick run is for. */
function headlines(records, host, dtype) {
  const { engines, sources, columns } = group(records, host, dtype);
  const column = columns.find(
    ({ head }) => head === `token at ${sources.includes(128) ? 128 : sources[0]}`,
  );
  return engines
    .filter((engine) => engine !== "relata")
    .map((engine) => {
      const [peer, ours] = [column.value(engine), column.value("relata")];
      const ratio = `${(peer / ours).toFixed(1)}x`;
      return `${dtype} decode, ${host}: ${ratio} as fast as ${engine} (${short(ours)} against ${short(peer)} ms per token)`;
    });
}

export function report(records) {
  const run = records.find(({ type }) => type === "run");
  const hosts = records.filter(({ type }) => type === "host");
  const groups = [];
  for (const { host } of hosts) {
    for (const dtype of ["int8", "f32"]) {
      const has = { host, dtype, type: "generate" };
      if (records.some((line) => Object.keys(has).every((key) => line[key] === has[key])))
        groups.push([records, host, dtype]);
    }
  }
  const sizes = records.filter(({ type }) => type === "download");
  const kilobytes = (bytes) => (bytes / 1e3).toFixed(1);
  return [
    `\n${run.date}, ${run.machine}, commit ${run.commit}: ${run.command}`,
    `${hosts.map(({ host, version }) => `${host} is ${version}`).join(", ")}; ${Object.entries(
      run.peers,
    )
      .map(([name, version]) => `${name} ${version}`)
      .join(", ")}`,
    ...groups.map((each) => groupReport(...each)),
    "\nDownload besides the model (kB):\n",
    table(
      ["", "raw", "gzip"],
      sizes.map(({ engine, raw, gzip }) => [engine, kilobytes(raw), kilobytes(gzip)]),
    ),
    "",
    ...groups.flatMap((each) => headlines(...each)),
  ].join("\n");
}

if (isMain(import.meta.url)) {
  await main(([file]) => {
    const lines = readFileSync(file, "utf8").trim().split("\n");
    console.log(report(lines.map((line) => JSON.parse(line))));
  });
}
