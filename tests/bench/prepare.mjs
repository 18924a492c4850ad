// What the benchmark needs and git does not hold, made once into the cache folder: the peers and two Node versions from
// npm, the model for all engines, and the probe of the machine's limits.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureBox, inBox } from "../../tools/box.mjs";
import { buildPackage } from "../../tools/build.mjs";
import { cacheFolder, root, run, SetupError, say } from "../../tools/process.mjs";
import { toolchain } from "../../tools/toolchain.mjs";

/** The npm package `node` installs its program by a script; these are the packages that script chooses from. */
const kNode = `npm:node-${process.platform}-${process.arch}`;
/** What is measured against what, pinned. */
export const kPeers = {
  "onnxruntime-web": "1.30.0",
  "onnxruntime-node": "1.30.0",
  "@huggingface/transformers": "4.3.2",
  node20: `${kNode}@20.20.2`,
  node24: `${kNode}@24.21.0`,
};
const kSeed = 1;
const kModelScript = join(root, "tests/bench/make_model.py");
const kRealScript = join(root, "tests/bench/make_real.py");
const kShapes = join(root, "tests/bench/shapes.json");
const kLimitsSource = join(root, "tests/bench/limits/limits.cpp");

/** The folder `name`-hash of `inputs` in the cache, filled by `make` unless it is there. */
async function cached(name, inputs, make) {
  const hash = createHash("sha256").update(inputs).digest("hex").slice(0, 12);
  const folder = join(cacheFolder(), "bench", `${name}-${hash}`);
  if (existsSync(folder)) return folder;
  // What an interrupted attempt left.
  const partial = `${folder}.partial`;
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(partial, { recursive: true });
  await make(partial);
  renameSync(partial, folder);
  return folder;
}

/** The peers: a folder with a node_modules. No script of theirs runs. */
function preparePeers() {
  const manifest = JSON.stringify({ private: true, dependencies: kPeers });
  return cached("peers", manifest, async (folder) => {
    say("fetching onnxruntime, transformers.js and two versions of Node (650 MB)");
    writeFileSync(join(folder, "package.json"), manifest);
    const argv = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
    if ((await run(argv, { cwd: folder })) !== 0)
      throw new SetupError("npm could not install the peers: its messages are above");
  });
}

function prepareModel() {
  return cached(
    "t5-small",
    `${kSeed} ${readFileSync(kModelScript)} ${readFileSync(kShapes)}`,
    async (folder) => {
      await ensureBox("onnx");
      say("making the model (1.2 GB, about a minute)");
      const argv = inBox(["python3", kModelScript, folder, String(kSeed)], { box: "onnx" });
      // Debian's onnx and onnxruntime both register every operator and complain of each other: only a failure is shown.
      let said = "";
      const onOutput = (text) => {
        said += text;
      };
      if ((await run(argv, { quiet: true, onOutput })) !== 0)
        throw new SetupError(`making the model failed: ${said.slice(-1000)}`);
    },
  );
}

/**
 * A folder of a shape in shapes.json with random weights, as Hugging Face saves it, its expected.json, and a tokenizer of
 * single letters. python: a command that has torch and transformers; without one a box is made that has them.
 */
export function prepareReal(shape, python, tokenizer) {
  const inputs = `${shape} ${readFileSync(kRealScript)} ${readFileSync(kShapes)}`;
  return cached(`real-${shape}`, inputs, async (folder) => {
    const argv = [...(python ?? ["python3"]), kRealScript, shape, folder];
    if (python === null) await ensureBox("transformers");
    say(`making a model of ${shape}'s shape, and what Hugging Face writes with it (some minutes)`);
    const command = python === null ? inBox(argv, { box: "transformers" }) : argv;
    if ((await run(command)) !== 0) throw new SetupError("making the model failed");
    writeFileSync(join(folder, "tokenizer.json"), tokenizer);
  });
}

function prepareLimits() {
  return cached("limits", readFileSync(kLimitsSource), async (folder) => {
    const tools = await toolchain();
    for (const [name, flags] of [
      ["baseline", []],
      ["relaxed", ["-mrelaxed-simd"]],
    ]) {
      const options = ["-O3", "-std=c++20", "-msimd128", "-sSTANDALONE_WASM", "--no-entry"];
      const memory = ["-sINITIAL_MEMORY=80MB"];
      const output = ["-o", join(folder, `${name}.wasm`)];
      const argv = ["emcc", ...options, ...memory, ...flags, kLimitsSource, ...output];
      if ((await tools.run(argv)) !== 0) throw new SetupError("the probe did not compile");
    }
  });
}

/** The model in 8 bits, as a user converts it, with the package as it is now. */
async function convertModel(model) {
  const folder = join(root, "build/bench/int8");
  rmSync(folder, { recursive: true, force: true });
  const argv = [process.execPath, join(root, "dist/package/cli.js"), "convert", model, folder];
  if ((await run([...argv, "--dtype", "int8"], { quiet: true })) !== 0)
    throw new SetupError("the model could not be converted to int8");
  return folder;
}

/** Everything, with the package built: the folders, and the Node programs by name. */
export async function prepare() {
  const built = async () => {
    await buildPackage();
    return prepareLimits();
  };
  const [peers, model, limits] = await Promise.all([preparePeers(), prepareModel(), built()]);
  const node = (name) => join(peers, "node_modules", name, "bin", "node");
  return {
    peers,
    model,
    int8: await convertModel(model),
    limits: {
      folder: limits,
      baseline: join(limits, "baseline.wasm"),
      relaxed: join(limits, "relaxed.wasm"),
    },
    nodes: { node20: node("node20"), node24: node("node24") },
  };
}
