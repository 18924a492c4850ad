// The tests:  node tools/test.mjs              every stage; the last line is `N passed, N failed`
//             node tools/test.mjs core [doctest arguments]
//             node tools/test.mjs STAGE        one stage, by its name below

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildPackage, buildPage, buildPreset } from "./build.mjs";
import { chromium, chromiumFlags } from "./chromium.mjs";
import { count, doctestCounts, tapCounts } from "./counts.mjs";
import { firefox } from "./firefox.mjs";
import { lintChecks } from "./lint.mjs";
import { installPacked } from "./pack.mjs";
import { main, root, run, SetupError, say } from "./process.mjs";
import { serve } from "./serve.mjs";
import { ensurePackages } from "./setup.mjs";
import { reportSizes } from "./size.mjs";
import { toolchain } from "./toolchain.mjs";

async function doctest(start, argv) {
  let output = "";
  const status = await start([...argv, "--no-colors=true"], {
    onOutput: (text) => {
      output += text;
    },
  });
  return doctestCounts(status, output);
}

async function nativeTests(preset, argv = []) {
  const folder = await buildPreset(preset, "relata_core_tests");
  const tools = await toolchain();
  // A report of undefined behaviour without the way to it is of little use.
  const env = { UBSAN_OPTIONS: "print_stacktrace=1" };
  return doctest(
    (command, options) => tools.run(command, { ...options, env }),
    [join(folder, "core_tests"), ...argv],
  );
}

async function wasmTests(argv) {
  const folder = await buildPreset("wasm", "relata_core_tests");
  return doctest(run, [process.execPath, join(folder, "core_tests.cjs"), ...argv]);
}

/** The table of every family and kind of file, natively and in WebAssembly; the other stages leave it out. */
const kParity = ["--test-suite=parity"];
const kNoParity = ["--test-suite-exclude=parity"];
async function parityTests() {
  const native = await nativeTests("native", kParity);
  const wasm = await wasmTests(kParity);
  return { passed: native.passed + wasm.passed, failed: native.failed + wasm.failed };
}

/** Runs every *.test.mjs of a folder with node's test runner. */
async function nodeTests(folder, { env, cwd } = {}) {
  const files = existsSync(folder)
    ? readdirSync(folder).filter((file) => file.endsWith(".test.mjs"))
    : [];
  if (files.length === 0) return { passed: 0, failed: 0 };
  const report = join(mkdtempSync(join(tmpdir(), "relata-tap-")), "report.tap");
  const reporters = [
    ...["--test-reporter=spec", "--test-reporter-destination=stdout"],
    ...["--test-reporter=tap", `--test-reporter-destination=${report}`],
  ];
  const argv = [
    process.execPath,
    "--test",
    ...reporters,
    ...files.sort().map((file) => join(folder, file)),
  ];
  const status = await run(argv, { cwd, env: { ...process.env, ...env } });
  const counts = tapCounts(status, existsSync(report) ? readFileSync(report, "utf8") : "");
  rmSync(join(report, ".."), { recursive: true });
  return counts;
}

async function packageTests() {
  await buildPackage();
  const { folder, tests, remove } = await installPacked();
  try {
    return await nodeTests(tests, { cwd: folder, env: { RELATA_ROOT: root } });
  } finally {
    remove();
  }
}

async function browserTests() {
  await buildPage();
  const [browser, other] = [await chromium(), await firefox()];
  const screenshots = join(root, "build", "screenshots");
  mkdirSync(screenshots, { recursive: true });
  const { url, stop } = await serve();
  try {
    const env = {
      RELATA_PAGE: url,
      RELATA_CHROMIUM: browser,
      RELATA_CHROMIUM_FLAGS: chromiumFlags().join(" "),
      RELATA_FIREFOX: other,
    };
    return await nodeTests(join(root, "tests/browser"), {
      env: { ...env, RELATA_SCREENSHOTS: screenshots },
    });
  } finally {
    await stop();
  }
}

async function lint() {
  const results = [];
  for (const [name, check] of Object.entries(lintChecks())) {
    const status = await check();
    if (status !== 0) say(`${name} failed`);
    results.push(status === 0);
  }
  return count(results);
}

const kStages = {
  // The page's types come from the built package.
  build: async () => count([existsSync(await buildPage())]),
  lint,
  layers: () => nodeTests(join(root, "tests/layers")),
  tools: () => nodeTests(join(root, "tests/tools")),
  core: (argv) => nativeTests("native", argv.length > 0 ? argv : kNoParity),
  asan: () => nativeTests("native-asan"),
  wasm: () => wasmTests(kNoParity),
  parity: parityTests,
  package: packageTests,
  browser: browserTests,
  size: async () => {
    await buildPage();
    return count([reportSizes()]);
  },
};

/** Runs one stage; whatever it throws is its failure, and a stage that ran nothing has failed. */
async function runStage(name, argv) {
  say(`--- ${name}`);
  const start = performance.now();
  let result;
  try {
    result = await kStages[name](argv);
  } catch (error) {
    say(error instanceof SetupError ? error.message : (error.stack ?? String(error)));
    result = { passed: 0, failed: 1 };
  }
  if (result.passed + result.failed === 0) {
    say(`${name} ran nothing`);
    result.failed = 1;
  }
  return { name, ...result, seconds: (performance.now() - start) / 1000 };
}

await main(async ([only, ...argv]) => {
  if (only !== undefined && !Object.hasOwn(kStages, only)) {
    throw new SetupError(`no test stage is named ${only}: ${Object.keys(kStages).join(", ")}`);
  }
  if (only !== undefined && only !== "core" && argv.length > 0)
    throw new SetupError(`${only} takes no arguments`);
  await ensurePackages();
  const results = [];
  for (const name of only === undefined ? Object.keys(kStages) : [only])
    results.push(await runStage(name, argv));
  const total = (what) => results.reduce((sum, result) => sum + result[what], 0);
  if (results.length > 1) {
    console.log("");
    for (const { name, passed, failed, seconds } of results) {
      console.log(
        `${name.padEnd(8)} ${String(passed).padStart(5)} passed ${String(failed).padStart(4)} failed ${seconds.toFixed(0).padStart(5)} s`,
      );
    }
  }
  console.log(`${total("passed")} passed, ${total("failed")} failed`);
  return total("failed") > 0 ? 1 : 0;
});
