// Builds into build/ and dist/:  node tools/build.mjs [wasm | package | page]   (each with what it needs; default: page)

import { createHash } from "node:crypto";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { isMain, main, root, run, SetupError, say } from "./process.mjs";
import { ensurePackages, npmProgram } from "./setup.mjs";
import { toolchain } from "./toolchain.mjs";

/** Configures (where needed) and builds a CMake preset, and returns its build folder. `target` defaults to all. */
export async function buildPreset(preset, target) {
  const tools = await toolchain();
  const folder = join(root, "build", preset);
  const stamp = join(folder, "toolchain.txt");
  // Another toolchain cannot go on with this one's files.
  if (
    existsSync(folder) &&
    !(existsSync(stamp) && readFileSync(stamp, "utf8") === tools.description)
  ) {
    rmSync(folder, { recursive: true });
  }
  const step = async (argv) => {
    const status = await tools.run(argv);
    if (status !== 0) throw new SetupError(`${argv.join(" ")} failed: its messages are above`);
  };
  if (!existsSync(join(folder, "build.ninja"))) {
    say(`configuring ${preset} with ${tools.description}`);
    await step([...(preset.startsWith("wasm") ? ["emcmake"] : []), "cmake", "--preset", preset]);
    writeFileSync(stamp, tools.description);
  }
  await step(["cmake", "--build", "--preset", preset, ...(target ? ["--target", target] : [])]);
  return folder;
}

/** Every file below some files and folders, sorted. */
export function filesBelow(...paths) {
  return paths
    .flatMap((path) => {
      if (!existsSync(path)) return [];
      if (!statSync(path).isDirectory()) return [path];
      return readdirSync(path, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
    })
    .sort();
}

/** Runs `make` unless it already ran on these very inputs and its outputs are still there. */
async function whenChanged(name, inputs, outputs, make) {
  const hash = createHash("sha256");
  for (const file of filesBelow(...inputs))
    hash.update(`${relative(root, file)}\0`).update(readFileSync(file));
  const digest = hash.digest("hex");
  const stamp = join(root, "build", `${name}.stamp`);
  const current = existsSync(stamp) && readFileSync(stamp, "utf8") === digest;
  if (current && outputs.every((file) => existsSync(file))) return;
  rmSync(stamp, { force: true });
  await make();
  mkdirSync(join(root, "build"), { recursive: true });
  writeFileSync(stamp, digest);
}

async function npmStep(title, argv) {
  say(title);
  if ((await run(argv)) !== 0) throw new SetupError(`${title} failed: its messages are above`);
}

const at = (...parts) => join(root, ...parts);

/** The WebAssembly modules: relata.js, relata.wasm and relata-relaxed.wasm of one preset. */
async function buildModules(preset) {
  const folder = await buildPreset(preset, "modules");
  const glue = (name) => readFileSync(join(folder, `${name}.js`), "utf8");
  // They differ in the kernels alone, so one glue serves both.
  if (glue("relata") !== glue("relata-relaxed").replaceAll("relata-relaxed.", "relata."))
    throw new SetupError("the glue of relata-relaxed.wasm is not that of relata.wasm");
  return folder;
}

/** All four: build/wasm, and with threads build/wasm-threads. */
export async function buildWasm() {
  const plain = await buildModules("wasm");
  return { plain, threads: await buildModules("wasm-threads") };
}

/** The npm package in dist/package, with the modules of the core in its folder wasm. */
export async function buildPackage() {
  await ensurePackages();
  const { plain, threads } = await buildWasm();
  const names = ["relata.js", "relata.wasm", "relata-relaxed.wasm"];
  const parts = [
    ...names.map((name) => [join(plain, name), join("wasm", name)]),
    ...["readers.js", "readers.wasm"].map((name) => [join(plain, name), join("wasm", name)]),
    ...names.map((name) => [join(threads, name), join("wasm/threads", name)]),
  ];
  // The modules as they are compiled, which only tests of their own look into.
  const modules = at("build/js");
  const inputs = [
    at("bindings/js"),
    at("tsconfig.base.json"),
    at("package-lock.json"),
    at("bindings/wasm/minify.mjs"),
    at("bindings/wasm/bundle.mjs"),
    ...parts.map(([from]) => from),
  ];
  const folder = at("dist/package");
  await whenChanged(
    "package",
    inputs,
    [
      join(folder, "index.js"),
      join(modules, "index.js"),
      ...parts.map(([, to]) => join(folder, to)),
    ],
    async () => {
      for (const old of [folder, modules]) rmSync(old, { recursive: true, force: true });
      await npmStep("compiling the package", [
        ...npmProgram("typescript", "tsc"),
        ...["-p", "bindings/js", "--outDir", modules, "--declarationDir", folder],
      ]);
      mkdirSync(join(folder, "wasm/threads"), { recursive: true });
      for (const [from, to] of parts) copyFileSync(from, join(folder, to));
      const glue = filesBelow(join(folder, "wasm")).filter((file) => file.endsWith(".js"));
      await npmStep("minifying the glue", [
        process.execPath,
        at("bindings/wasm/minify.mjs"),
        ...glue.flatMap((file) => [file, file]),
      ]);
      await npmStep("bundling the package", [
        ...[process.execPath, at("bindings/wasm/bundle.mjs"), modules, folder],
      ]);
      cpSync(join(folder, "wasm"), join(modules, "wasm"), { recursive: true });
    },
  );
  return folder;
}

/** The page in dist/page, and the package it uses. */
export async function buildPage() {
  await buildPackage();
  const folder = at("dist/page");
  await whenChanged(
    "page",
    [at("web"), at("dist/package"), at("package-lock.json")],
    [join(folder, "index.html")],
    () =>
      npmStep("building the page", [
        ...npmProgram("vite"),
        "build",
        "web",
        "--outDir",
        folder,
        "--emptyOutDir",
        "--logLevel",
        "warn",
      ]),
  );
  return folder;
}

if (isMain(import.meta.url)) {
  await main(async ([what = "page"]) => {
    const builds = { wasm: buildWasm, package: buildPackage, page: buildPage };
    if (!Object.hasOwn(builds, what))
      throw new SetupError(`nothing to build is named ${what}: wasm, package or page`);
    const built = await builds[what]();
    say(
      `built ${typeof built === "string" ? relative(root, built) : "build/wasm, build/wasm-threads"}`,
    );
  });
}
