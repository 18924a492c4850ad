// Boxes: Debian root folders, each made once by mmdebstrap, kept in the cache folder, and entered through bubblewrap.
// The toolchain box holds a recent Emscripten, CMake, compilers and headers, for systems whose own are missing or too old.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  aptInstall,
  cacheFolder,
  capture,
  isMain,
  main,
  root,
  run,
  SetupError,
  say,
  which,
} from "./process.mjs";

const kSuite = "forky";
const kTriplet = { x64: "x86_64-linux-gnu", arm64: "aarch64-linux-gnu" }[process.arch];

/** What each box holds, how it is made, the environment it needs, and what to do where it cannot be made. */
const kBoxes = {
  toolchain: {
    variant: "minbase",
    packages: [
      "emscripten",
      "cmake",
      "ninja-build",
      "g++",
      "clang-format",
      "libxsimd-dev",
      "doctest-dev",
      "nlohmann-json3-dev",
    ],
    size: "2.5 GB",
    instead: ", or put Emscripten 4.0 or newer on PATH",
  },
  // Writes the benchmark's ONNX files. Unpacked and not configured, which takes a fifth of the time and leaves out the links
  // to numpy's BLAS.
  onnx: {
    variant: "extract",
    packages: ["python3-onnx", "python3-onnxruntime", "libopenblas0-pthread"],
    env: { LD_LIBRARY_PATH: `/usr/lib/${kTriplet}/openblas-pthread` },
    size: "700 MB",
    instead: "",
  },
  // Judges models of real size.
  transformers: {
    variant: "extract",
    packages: ["python3-torch", "python3-transformers", "libopenblas0-pthread"],
    env: { LD_LIBRARY_PATH: `/usr/lib/${kTriplet}/openblas-pthread` },
    size: "2 GB",
    instead: ", or name a Python that has torch and transformers: --python COMMAND",
  },
};

/** A box's folder; another list of packages is another box. */
export function boxFolder(box = "toolchain") {
  const hash = createHash("sha256")
    .update([kSuite, ...kBoxes[box].packages].join(" "))
    .digest("hex")
    .slice(0, 12);
  return join(cacheFolder(), `${box}-${hash}`);
}

/** The command that runs `argv` inside a box, with the repository and the cache folder in place and all else read-only. */
export function inBox(argv, { env = {}, cwd = root, box = "toolchain" } = {}) {
  const cache = cacheFolder();
  // Emscripten compiles system libraries on first use; outside the box they survive it and need no write access to it.
  const variables = {
    HOME: cache,
    EM_CACHE: join(cache, "emscripten"),
    PATH: "/usr/bin:/bin",
    LC_ALL: "C.UTF-8",
    ...kBoxes[box].env,
    ...env,
  };
  const jobs = process.env.CMAKE_BUILD_PARALLEL_LEVEL;
  if (jobs) variables.CMAKE_BUILD_PARALLEL_LEVEL = jobs;
  mkdirSync(variables.EM_CACHE, { recursive: true });
  const folder = boxFolder(box);
  return [
    // The root is an empty memory file system, so that folders can be mounted wherever the repository and the cache lie.
    ...["bwrap", "--tmpfs", "/", "--dev", "/dev", "--proc", "/proc", "--dir", "/tmp"],
    ...["usr", "etc"].flatMap((name) => ["--ro-bind", join(folder, name), `/${name}`]),
    ...["bin", "lib", "lib64", "sbin"].flatMap((name) => ["--symlink", `usr/${name}`, `/${name}`]),
    ...[...new Set([cache, root, cwd])].flatMap((path) => ["--bind", path, path]),
    ...["--chdir", cwd, "--die-with-parent", "--clearenv"],
    ...Object.entries(variables).flatMap(([name, value]) => ["--setenv", name, value]),
    "--",
    ...argv,
  ];
}

/** The Debian mirror apt is configured with, or RELATA_MIRROR; undefined where apt names none. */
export function debianMirror() {
  if (process.env.RELATA_MIRROR) return process.env.RELATA_MIRROR;
  const release = existsSync("/etc/os-release") ? readFileSync("/etc/os-release", "utf8") : "";
  if (!/^ID="?debian"?$/m.test(release)) return undefined;
  const codename = /^VERSION_CODENAME="?(\w+)"?$/m.exec(release)?.[1];
  const suites = new Set([codename, "stable", "testing", "unstable", "sid", kSuite]);
  // apt reads its own files, in either format.
  const targets = capture([
    "apt-get",
    "indextargets",
    "--no-release-info",
    "--format",
    "$(REPO_URI) $(RELEASE) $(COMPONENT)",
    "Created-By: Packages",
  ]);
  for (const line of targets.output.split("\n")) {
    const [address, suite, component] = line.split(" ");
    if (/^https?:/.test(address) && suites.has(suite) && component === "main") return address;
  }
  return undefined;
}

/** Proxies and certificates apt is configured with, as options for mmdebstrap, which does not read them. */
function networkOptions() {
  const dump = capture(["apt-config", "dump"]).output.split("\n");
  const lines = dump.filter((line) => /^Acquire::(http|https)::[^ ]+ "[^"]+";$/.test(line));
  return lines.map((line) => `--aptopt=${line}`);
}

async function requirePrograms(programs, box) {
  const missing = programs.filter((program) => !which(program));
  if (missing.length === 0) return;
  const packages = missing.map((program) => (program === "bwrap" ? "bubblewrap" : program));
  if (await aptInstall([...packages, "debian-archive-keyring"])) return;
  throw new SetupError(
    `the ${box} box needs ${missing.join(" and ")}: as root, run \`apt-get install ${packages.join(" ")}\`` +
      kBoxes[box].instead,
  );
}

async function makeBox(box) {
  const folder = boxFolder(box);
  const { variant, packages, size, instead } = kBoxes[box];
  await requirePrograms(["mmdebstrap", "bwrap", "tar"], box);
  const mirror = debianMirror();
  if (mirror === undefined) {
    throw new SetupError(
      `apt names no Debian mirror here: set RELATA_MIRROR to the address of one${instead}`,
    );
  }
  const isRoot = process.getuid?.() === 0;
  if (!isRoot && !which("newuidmap")) {
    throw new SetupError(
      `making the ${box} box without root needs newuidmap: as root, run \`apt-get install uidmap\``,
    );
  }
  // An interrupted attempt leaves only these two, and the next one starts by removing them.
  const [archive, partial] = [`${folder}.tar`, `${folder}.partial`];
  rmSync(archive, { force: true });
  rmSync(partial, { recursive: true, force: true });
  say(`making the ${box} box (Debian ${kSuite}, once, up to three minutes) in ${folder}`);
  const made = await run([
    ...[
      "mmdebstrap",
      `--variant=${variant}`,
      `--mode=${isRoot ? "root" : "unshare"}`,
      "--format=tar",
    ],
    ...[
      '--aptopt=Acquire::Check-Valid-Until "false"',
      '--aptopt=Acquire::Retries "3"',
      ...networkOptions(),
    ],
    ...["--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*"],
    ...[`--include=${packages.join(",")}`, kSuite, archive, `deb ${mirror} ${kSuite} main`],
  ]);
  if (made !== 0) {
    throw new SetupError(
      `mmdebstrap could not make the ${box} box (its messages are above). It needs ${mirror} and root or user ` +
        `namespaces${instead}`,
    );
  }
  mkdirSync(partial);
  // Device nodes need root and are not wanted: /dev comes from bubblewrap.
  if (
    (await run([
      "tar",
      "-x",
      "-f",
      archive,
      "-C",
      partial,
      "--no-same-owner",
      "--exclude=./dev/*",
    ])) !== 0
  ) {
    throw new SetupError(
      `tar could not unpack ${archive}: is the disk full? The box takes about ${size}`,
    );
  }
  rmSync(archive);
  renameSync(partial, folder);
}

/** Makes the box unless it is there. A second process waits for the first one. */
export async function ensureBox(box = "toolchain") {
  const folder = boxFolder(box);
  if (existsSync(folder)) {
    await requirePrograms(["bwrap"], box);
    return folder;
  }
  if (process.platform !== "linux") {
    throw new SetupError(
      box === "toolchain"
        ? "no Emscripten 4.0 or newer was found on PATH, and the toolchain box needs Linux: install emsdk and activate it"
        : `the ${box} box needs Linux`,
    );
  }
  const lock = process.env.RELATA_BOX_LOCK === folder;
  if (!lock) {
    // The kernel drops the lock with the process, however it ends.
    const env = { ...process.env, RELATA_BOX_LOCK: folder };
    const status = await run(
      ["flock", `${folder}.lock`, process.execPath, join(root, "tools/box.mjs"), box],
      { env },
    );
    if (status !== 0) throw new SetupError(`the ${box} box could not be made`);
    return folder;
  }
  await makeBox(box);
  return folder;
}

if (isMain(import.meta.url)) await main(async ([box]) => void (await ensureBox(box)));
