// Which toolchain to build with: an Emscripten of this machine that is new enough, or the toolchain box.
//
//   node tools/toolchain.mjs                  make it ready and say what it is
//   node tools/toolchain.mjs COMMAND ARGS…    run a command with it, in the current folder

import { readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { boxFolder, ensureBox, inBox } from "./box.mjs";
import {
  capture,
  compareVersions,
  isMain,
  main,
  run,
  SetupError,
  say,
  versionIn,
  which,
} from "./process.mjs";

const kLeast = { emcc: "4.0", cmake: "3.25", xsimd: "14.0" };

/** PATH with EMSDK's own folders in front, where that variable is set. */
function hostPath() {
  const sdk = process.env.EMSDK;
  const folders = sdk ? [join(sdk, "upstream", "emscripten"), sdk] : [];
  return [...folders, process.env.PATH ?? ""].join(delimiter);
}

/** The version a program states, or undefined where it does not run. */
function versionOf(argv, env) {
  const { ok, output } = capture(argv, { env });
  return ok ? versionIn(output.split("\n")[0]) : undefined;
}

/** The host's toolchain, or undefined where its Emscripten is missing or too old. */
function hostToolchain() {
  const env = { ...process.env, PATH: hostPath() };
  if (!which("emcc", env.PATH)) return undefined;
  const version = versionOf(["emcc", "--version"], env);
  if (version === undefined || compareVersions(version, kLeast.emcc) < 0) {
    say(
      `emcc ${version ?? "on PATH does not run"}: Relata needs ${kLeast.emcc} or newer, so it uses a toolchain of its own`,
    );
    return undefined;
  }
  const cmake = which("cmake", env.PATH) && versionOf(["cmake", "--version"], env);
  if (cmake === undefined || compareVersions(cmake, kLeast.cmake) < 0) {
    throw new SetupError(
      `Emscripten ${version} is here, but CMake ${kLeast.cmake} or newer is not (found: ${cmake ?? "none"}): install it`,
    );
  }
  if (!which("ninja", env.PATH))
    throw new SetupError("Emscripten is here, but ninja is not: install it");
  return {
    kind: "host",
    description: `Emscripten ${version} and CMake ${cmake} of this machine`,
    has: (program) => which(program, env.PATH) !== undefined,
    run: (argv, options = {}) => run(argv, { ...options, env: { ...env, ...options.env } }),
  };
}

function boxToolchain() {
  const { ok, errors } = capture(inBox(["true"]));
  if (!ok) {
    throw new SetupError(
      `bubblewrap cannot enter the toolchain box (${errors}): allow user namespaces, or put Emscripten ` +
        `${kLeast.emcc} or newer on PATH`,
    );
  }
  const include = join(boxFolder(), "usr", "include");
  const config = readFileSync(join(include, "xsimd", "config", "xsimd_config.hpp"), "utf8");
  const part = (name) => new RegExp(`XSIMD_VERSION_${name} (\\d+)`).exec(config)?.[1];
  const xsimd = [part("MAJOR"), part("MINOR"), part("PATCH")].join(".");
  const stated = readFileSync(
    join(boxFolder(), "usr", "share", "emscripten", "emscripten-version.txt"),
    "utf8",
  );
  const emcc = versionIn(stated) ?? "0";
  for (const [name, version] of Object.entries({ emcc, xsimd })) {
    if (compareVersions(version, kLeast[name]) >= 0) continue;
    throw new SetupError(
      `the toolchain box holds ${name} ${version}, and Relata needs ${kLeast[name]}: remove ${boxFolder()} and try again`,
    );
  }
  return {
    kind: "box",
    description: `Emscripten ${emcc} and xsimd ${xsimd} of the toolchain box (${boxFolder()})`,
    has: () => true,
    run: (argv, { env, cwd, ...options } = {}) => run(inBox(argv, { env, cwd }), options),
  };
}

let found;

/**
 * The toolchain, made where it is missing: `run(argv, options)` runs a command with it and resolves to its exit
 * status, `has(program)` tells whether it holds a program, `description` names it.
 */
export async function toolchain() {
  if (found === undefined) {
    found = hostToolchain();
    if (found === undefined) {
      await ensureBox();
      found = boxToolchain();
    }
  }
  return found;
}

if (isMain(import.meta.url)) {
  await main(async (argv) => {
    const tools = await toolchain();
    if (argv.length > 0) return tools.run(argv, { cwd: process.cwd() });
    say(tools.description);
    return 0;
  });
}
