// Small helpers to find programs and run them. Nothing here needs an installed package, because these
// files run on a fresh clone, before `npm ci`.

import { spawn, spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository root. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Where what is made once and outlives a clone is kept: the toolchain box, Emscripten's system libraries. */
export function cacheFolder() {
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "relata");
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** Something is missing that only the user can supply; `message` says what and what to do. */
export class SetupError extends Error {}

export function say(line) {
  process.stderr.write(`relata: ${line}\n`);
}

/** The path of `name` on PATH, or undefined. */
export function which(name, path = process.env.PATH ?? "") {
  for (const folder of path.split(delimiter)) {
    const file = join(folder || ".", name);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {}
  }
  return undefined;
}

/** Runs a command to its end and returns its output; `output` is "" where it could not start. */
export function capture(argv, options = {}) {
  const result = spawnSync(argv[0], argv.slice(1), {
    encoding: "utf8",
    maxBuffer: 1 << 28,
    ...options,
  });
  return {
    ok: result.status === 0,
    output: (result.stdout ?? "").trim(),
    errors: (result.stderr ?? result.error?.message ?? "").trim(),
  };
}

/**
 * Runs a command with its output on the terminal. Resolves to its exit status, or 128 plus the signal's number
 * when a signal ended it. `onOutput`, when given, also receives everything it prints.
 */
export function run(argv, { onOutput, quiet = false, ...options } = {}) {
  return new Promise((resolve, reject) => {
    const piped = onOutput || quiet;
    const child = spawn(argv[0], argv.slice(1), {
      cwd: root,
      stdio: piped ? ["inherit", "pipe", "pipe"] : "inherit",
      ...options,
    });
    child.on("error", reject);
    if (piped) {
      const forward = (from, to) =>
        from.setEncoding("utf8").on("data", (text) => {
          onOutput?.(text);
          if (!quiet) to.write(text);
        });
      forward(child.stdout, process.stdout);
      forward(child.stderr, process.stderr);
    }
    child.on("close", (status, signal) => resolve(status ?? 128 + (signal === "SIGINT" ? 2 : 15)));
  });
}

/** `run`, where any failure is an error. */
export async function mustRun(argv, options) {
  const status = await run(argv, options);
  if (status !== 0) throw new SetupError(`${argv.join(" ")} ended with status ${status}`);
}

/** Compares dotted versions by their numbers: negative, zero or positive. */
export function compareVersions(left, right) {
  const parts = (version) => version.split(".").map((part) => Number.parseInt(part, 10) || 0);
  const [a, b] = [parts(left), parts(right)];
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const order = (a[i] ?? 0) - (b[i] ?? 0);
    if (order !== 0) return order;
  }
  return 0;
}

/** The first dotted number in a text, or undefined. */
export function versionIn(text) {
  return /\d+(\.\d+)+/.exec(text)?.[0];
}

/** Runs a script's main function and turns a SetupError into one readable line and exit status 1. */
export async function main(body) {
  try {
    process.exitCode = (await body(process.argv.slice(2))) ?? 0;
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    say(error.message);
    process.exitCode = 1;
  }
}

/** Whether this module was started by hand rather than imported. */
export function isMain(url) {
  return (
    process.argv[1] !== undefined &&
    existsSync(process.argv[1]) &&
    fileURLToPath(url) === process.argv[1]
  );
}

/** True where this process may install Debian packages. */
export function canInstall() {
  return process.getuid?.() === 0 && which("apt-get") !== undefined;
}

/** The path of a program by the first of its names that is there; its Debian package is installed where it is missing and may be. */
export async function programOf(names, debianPackage, need) {
  const find = () => names.map((name) => which(name)).find(Boolean);
  const found = find() ?? ((await aptInstall([debianPackage])) ? find() : undefined);
  if (found !== undefined) return found;
  throw new SetupError(
    `${need} on PATH: as root on Debian, run \`apt-get install ${debianPackage}\``,
  );
}

/** Installs Debian packages as root; false when that is not possible or fails. */
export async function aptInstall(packages) {
  if (!canInstall()) return false;
  say(`installing ${packages.join(" ")} with apt-get`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", ...packages];
  if ((await run(install, { env, quiet: true })) === 0) return true;
  // The package lists of a fresh image are empty or out of date.
  await run(["apt-get", "update", "-q"], { env, quiet: true });
  return (await run(install, { env })) === 0;
}
