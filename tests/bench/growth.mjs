// `npm run bench:growth`: how Relata's time and memory grow, in Node 24, as tables: with the length of the source, with the
// position in the target, with texts worked on together, and with beams.
//
//   npm run bench:growth -- [--rounds 7] [--longest 4096]

import { parseArgs } from "node:util";
import { main, say } from "../../tools/process.mjs";
import { nodeHost } from "./hosts.mjs";
import { prepare } from "./prepare.mjs";
import { median, short, table } from "./report.mjs";

const kDtypes = ["int8", "f32"];
const kPositions = [16, 64, 128, 256, 512, 1024];
/** Steps on either side of a position. */
const kAround = 8;

/** `ask` of several hosts in turns, after a warm-up: the answers by host. */
async function inTurns(rounds, asks) {
  const answers = asks.map(() => []);
  for (let round = -1; round < rounds; round++) {
    for (const [i, ask] of asks.entries()) {
      const answer = await ask();
      if (round >= 0) answers[i].push(answer);
    }
  }
  return answers;
}

/** A fresh process for each length, whose peak is this length's. */
async function sources(host, rounds, longest) {
  const rows = [];
  for (let length = 64; length <= longest; length *= 2) {
    const row = [length];
    for (const dtype of kDtypes) {
      const { ask, close } = await host.open("relata", { dtype });
      const message = { command: "generate", source: length, count: 2 };
      const turns = length > 1024 ? Math.min(rounds, 3) : rounds;
      const [made] = await inTurns(turns, [() => ask(message)]);
      const encodeMs = median(made.map((one) => one.encodeMs));
      row.push(short(encodeMs), (encodeMs / length).toFixed(3));
      row.push((await ask({ command: "peak" })).toFixed(0));
      await close();
    }
    rows.push(row);
  }
  const heads = kDtypes.flatMap((dtype) => [`${dtype} encode ms`, "per token", "peak MB"]);
  return table(["source tokens", ...heads], rows);
}

async function positions(open, rounds) {
  const longest = kPositions.at(-1) + kAround;
  const message = { command: "steps", source: 128, count: longest };
  const turns = await inTurns(
    Math.min(rounds, 3),
    open.map(
      ({ ask }) =>
        () =>
          ask(message),
    ),
  );
  const rows = kPositions.map((position) => [
    position,
    ...turns.map((runs) =>
      short(median(runs.flatMap((steps) => steps.slice(position - kAround, position + kAround)))),
    ),
  ]);
  return table(["position", ...kDtypes.map((dtype) => `${dtype} ms per token`)], rows);
}

async function together(open, rounds) {
  const [source, count] = [24, 24];
  const message = { command: "together", source, count };
  const rows = [];
  for (const [i, { ask }] of open.entries()) {
    const [alone, batch, beams] = await inTurns(rounds, [
      () => ask({ ...message, texts: 1, numBeams: 1 }),
      () => ask({ ...message, texts: 16, numBeams: 1 }),
      () => ask({ ...message, texts: 1, numBeams: 4 }),
    ]);
    const step = (turns) => median(turns.map(({ decodeMs }) => decodeMs / count));
    const rate = (texts, turns) => (1e3 * texts) / step(turns);
    rows.push([
      kDtypes[i],
      ...[rate(1, alone), rate(16, batch), rate(16, batch) / rate(1, alone)].map(short),
      ...[step(alone), step(beams), step(beams) / step(alone)].map(short),
    ]);
  }
  const batchHeads = ["tokens/s alone", "of 16 together", "times"];
  const beamHeads = ["ms per step, greedy", "4 beams", "times"];
  return table(["", ...batchHeads, ...beamHeads], rows);
}

await main(async (argv) => {
  const { values } = parseArgs({
    args: argv,
    options: {
      rounds: { type: "string", default: "7" },
      longest: { type: "string", default: "4096" },
    },
  });
  const rounds = Number(values.rounds);
  const made = await prepare();
  const host = nodeHost(made.nodes.node24, made);
  say("source lengths");
  console.log(`\n${await sources(host, rounds, Number(values.longest))}`);
  const open = [];
  for (const dtype of kDtypes) open.push(await host.open("relata", { dtype }));
  say("positions");
  console.log(`\n${await positions(open, rounds)}`);
  say("batches and beams");
  console.log(`\n${await together(open, rounds)}`);
  for (const { close } of open) await close();
});
