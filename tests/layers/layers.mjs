// The rooms, and who may see whom. A rule reads one file's text and answers with what it finds wrong.

import { posix } from "node:path";

/** What each room of C++ may include besides itself. */
const kRooms = {
  "src/base": [],
  "src/kernels": ["src/base"],
  "src/relation": ["src/base", "src/kernels"],
  "src/model": ["src/base", "src/kernels", "src/relation"],
  "src/formats": ["src/base", "src/relation", "src/model"],
  "src/generate": ["src/base", "src/kernels", "src/relation", "src/model"],
  "bindings/wasm": [
    ...["src/base", "src/kernels", "src/relation", "src/model"],
    ...["src/formats", "src/generate"],
  ],
};

/** What may be included from outside the project only in certain files. */
const kLibraries = [
  { header: /^xsimd\//, home: /^src\/kernels\/simd\.hpp$/ },
  { header: /^nlohmann\//, home: /^src\/formats\// },
  { header: /^emscripten/, home: /^bindings\/wasm\// },
  { header: /^doctest/, home: /^tests\// },
];

/** Headers that print, end the process, or read a clock or a file: not for src. */
const kForbiddenHeaders = [
  ...["iostream", "ostream", "istream", "fstream", "syncstream", "print"],
  ...["filesystem", "chrono", "ctime", "time.h", "cassert", "assert.h", "csignal", "unistd.h"],
];

/** Words with the same effects, or that the project refuses. */
const kForbiddenWords = {
  "ends the process": /\b(abort|exit|_Exit|quick_exit|terminate|assert)\s*\(/,
  "prints or reads a file": /\b(v?f?printf|f?puts|putchar|cout|cerr|clog|fopen|fread|fwrite)\b/,
  "reads the environment": /\bgetenv\b/,
  "has state of a thread": /\bthread_local\b/,
  "is virtual": /\bvirtual\b/,
  throws: /\b(throw|try|catch)\b/,
};

const kInstructionSet =
  /^\s*#\s*(if|ifdef|ifndef|elif)\b.*(__AVX|__SSE|__FMA|__ARM|__aarch64|__wasm|__x86_64|__i386|_M_X64|__EMSCRIPTEN__|XSIMD_WITH)/m;

const folderOf = (file, depth) => file.split("/").slice(0, depth).join("/");

/** C++ or TypeScript with its comments blanked; strings are left as they are. */
function withoutComments(text) {
  return text.replace(/("(?:\\.|[^"\\\n])*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (match, string) =>
    string === undefined ? match.replace(/[^\n]/g, " ") : string,
  );
}

function checkCpp(file, text, files) {
  const room = folderOf(file, 2);
  const found = [];
  for (const [, mark, header] of text.matchAll(/^\s*#\s*include\s*(["<])([^">]+)[">]/gm)) {
    const library = kLibraries.find((entry) => entry.header.test(header));
    if (library !== undefined) {
      if (!library.home.test(file)) found.push(`includes <${header}>, which is not for this room`);
    } else if (mark === "<") {
      if (kForbiddenHeaders.includes(header)) found.push(`includes <${header}>`);
    } else if (!files.has(header)) {
      found.push(`includes "${header}", which is no path from the repository root`);
    } else {
      const other = folderOf(header, 2);
      // Only the quantiser, of all that reads files, computes.
      const quantiser = /^src\/formats\/quantise/.test(file) && other === "src/kernels";
      if (other !== room && !kRooms[room].includes(other) && !quantiser) {
        found.push(`includes "${header}", and ${room} may not see ${other}`);
      }
    }
  }
  if (!file.startsWith("src/")) return found;
  const code = text.replace(/"(?:\\.|[^"\\\n])*"/g, '""');
  for (const [what, word] of Object.entries(kForbiddenWords)) {
    const match = word.exec(code);
    if (match) found.push(`${what}: ${match[0].trim()}`);
  }
  if (kInstructionSet.test(text) && file !== "src/kernels/simd.hpp") {
    found.push("asks for an instruction set, which only src/kernels/simd.hpp does");
  }
  return found;
}

/** The module names a script imports, statically, dynamically or for types only. */
function importsOf(text) {
  const pattern = /\b(?:from|import)\s*\(?\s*["']([^"'\n]+)["']/g;
  return [...text.matchAll(pattern)].map(([, name]) => name);
}

/** The file a relative import names; TypeScript writes the compiled name. */
function target(file, name, files) {
  const path = posix.normalize(posix.join(posix.dirname(file), name));
  const candidates = [path, path.replace(/\.js$/, ".ts"), `${path}.ts`, `${path}/index.ts`];
  return candidates.find((candidate) => files.has(candidate)) ?? path;
}

/** The scripts that a browser loads with the package: all that its browser entries lead to. */
function browserScripts(files) {
  const reached = new Set();
  const visit = (file) => {
    if (reached.has(file) || !files.has(file)) return;
    reached.add(file);
    for (const name of importsOf(withoutComments(files.get(file)))) {
      if (name.startsWith(".")) visit(target(file, name, files));
    }
  };
  for (const entry of ["bindings/js/index.ts", "bindings/js/worker.ts"]) visit(entry);
  return reached;
}

function checkScript(file, text, files, inBrowser) {
  const found = [];
  const [top] = file.split("/");
  const isConfig = /(^|\/)vite\.config\.ts$/.test(file);
  for (const name of importsOf(text)) {
    if (name.startsWith(".")) {
      const home = top === "bindings" ? "bindings/js/" : `${top}/`;
      const path = target(file, name, files);
      if (!path.startsWith(home)) found.push(`imports ${name}, outside ${home}`);
    } else if (name.startsWith("node:")) {
      const runsInBrowser = top === "web" ? !isConfig : inBrowser.has(file);
      if (runsInBrowser) found.push(`imports ${name}, and a browser loads this file`);
    } else if (top === "tools") {
      found.push(`imports ${name}, and tools run before anything is installed`);
    } else if (top === "bindings") {
      found.push(`imports ${name}, and the package depends on nothing`);
    }
  }
  return found;
}

/**
 * Every breach of the layering among `files`, a map from paths (from the repository root) to texts, as
 * "path: what is wrong".
 */
export function violations(files) {
  const inBrowser = browserScripts(files);
  const found = [];
  for (const [file, raw] of files) {
    const text = withoutComments(raw);
    let problems = [];
    if (/\.(cpp|hpp)$/.test(file) && Object.hasOwn(kRooms, folderOf(file, 2))) {
      problems = checkCpp(file, text, files);
    } else if (/\.(cpp|hpp|h|c|cc)$/.test(file) && !file.startsWith("tests/")) {
      problems = ["is C++ outside the rooms"];
    } else if (/^(bindings\/js|web|tools)\/.*\.(ts|mjs|js)$/.test(file)) {
      problems = checkScript(file, text, files, inBrowser);
    }
    found.push(...problems.map((problem) => `${file}: ${problem}`));
  }
  return found;
}

/** The rooms that must hold files for the check to mean something. */
export const kFolders = [...Object.keys(kRooms), "bindings/js", "web", "tools"];
