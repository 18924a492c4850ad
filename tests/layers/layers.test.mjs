import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { kFolders, violations } from "./layers.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

function readTree() {
  const files = new Map();
  for (const top of ["src", "bindings", "web", "tools"]) {
    for (const entry of readdirSync(join(root, top), { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath ?? entry.path, entry.name);
      if (entry.isFile()) files.set(relative(root, path), readFileSync(path, "utf8"));
    }
  }
  return files;
}

test("the tree keeps to the layers", () => {
  assert.deepEqual(violations(readTree()), []);
});

test("every room holds files", () => {
  const paths = [...readTree().keys()];
  for (const folder of kFolders) {
    assert.ok(
      paths.some((path) => path.startsWith(`${folder}/`)),
      `${folder} is empty`,
    );
  }
});

/** A small sound tree; each breach below changes one file of it. */
const kSound = {
  "src/base/result.hpp": "#include <cstdint>\n",
  "src/kernels/simd.hpp": "#include <xsimd/xsimd.hpp>\n#if defined(__AVX2__)\n#endif\n",
  "src/kernels/kernels.hpp": '#include "src/base/result.hpp"\n',
  "src/relation/relation_index.hpp": '#include "src/kernels/kernels.hpp"\n',
  "src/model/config.hpp":
    '#include "src/relation/relation_index.hpp"\n// throw nothing, printf nothing\n',
  "src/formats/json.cpp": '#include <nlohmann/json.hpp>\n#include "src/model/config.hpp"\n',
  "src/formats/quantise.cpp": '#include "src/kernels/kernels.hpp"\n',
  "src/generate/session.hpp": '#include "src/model/config.hpp"\nconst char* kWord = "abort()";\n',
  "bindings/wasm/relata.cpp": '#include <emscripten/bind.h>\n#include "src/generate/session.hpp"\n',
  "bindings/js/index.ts": 'import { a } from "./engine.js";\nexport * from "./text/trie.js";\n',
  "bindings/js/text/trie.ts": 'import { b } from "../engine.js";\n',
  "bindings/js/engine.ts": "// import 'node:fs'\nexport const a = 1;\n",
  "bindings/js/node.ts": 'import { readFile } from "node:fs/promises";\nimport "./index.js";\n',
  "web/main.ts": 'import { Model } from "relata";\nimport "./views/map.js";\n',
  "web/views/map.ts": "export {};\n",
  "web/vite.config.ts":
    'import { resolve } from "node:path";\nimport { defineConfig } from "vite";\n',
  "tools/build.mjs": 'import { join } from "node:path";\n',
};

const check = (changes = {}) => violations(new Map(Object.entries({ ...kSound, ...changes })));

test("a sound tree has no breach", () => {
  assert.deepEqual(check(), []);
});

const kBreaches = {
  "left includes right": ["src/kernels/kernels.hpp", '#include "src/model/config.hpp"\n'],
  "formats sees generate": ["src/formats/json.cpp", '#include "src/generate/session.hpp"\n'],
  "formats computes": ["src/formats/json.cpp", '#include "src/kernels/kernels.hpp"\n'],
  "generate sees formats": ["src/generate/session.hpp", '#include "src/formats/quantise.cpp"\n'],
  "an include from nowhere": ["src/model/config.hpp", '#include "relation_index.hpp"\n'],
  "src includes Emscripten": ["src/model/config.hpp", "#include <emscripten.h>\n"],
  "xsimd beyond simd.hpp": ["src/kernels/kernels.hpp", "#include <xsimd/xsimd.hpp>\n"],
  "JSON beyond formats": ["src/model/config.hpp", "#include <nlohmann/json.hpp>\n"],
  "doctest beyond tests": ["src/base/result.hpp", "#include <doctest/doctest.h>\n"],
  "an instruction set": ["src/kernels/kernels.hpp", "#ifdef __wasm_simd128__\n#endif\n"],
  "a printing header": ["src/model/config.hpp", "#include <iostream>\n"],
  "a clock": ["src/generate/session.hpp", "#include <chrono>\n"],
  "a file": ["src/formats/json.cpp", "#include <fstream>\n"],
  "an exit": ["src/formats/json.cpp", "void stop() { std::abort(); }\n"],
  "a print": ["src/base/result.hpp", 'inline void say() { printf("x"); }\n'],
  "the environment": ["src/base/result.hpp", 'inline auto v = getenv("X");\n'],
  "an exception": ["src/base/result.hpp", "inline void fail() { throw 1; }\n"],
  "a virtual function": ["src/model/config.hpp", "struct A { virtual void b(); };\n"],
  "C++ outside the rooms": ["src/extra.cpp", "int x;\n"],
  "Node in the browser entry": ["bindings/js/engine.ts", 'import "node:fs";\n'],
  "Node on demand in the browser entry": ["bindings/js/engine.ts", 'await import("node:fs");\n'],
  "the package sees the page": ["bindings/js/node.ts", 'import "../../web/main.js";\n'],
  "an undeclared dependency": ["bindings/js/node.ts", 'import "left-pad";\n'],
  "the page around the package": ["web/main.ts", 'import "../bindings/js/index.js";\n'],
  "Node in the page": ["web/views/map.ts", 'import "node:path";\n'],
  "Node in a folder of the package": ["bindings/js/text/trie.ts", 'import "node:fs";\n'],
  "tools with a dependency": ["tools/build.mjs", 'import "vite";\n'],
  "tools sees tests": ["tools/build.mjs", 'import "../tests/layers/layers.mjs";\n'],
};

for (const [name, [file, text]] of Object.entries(kBreaches)) {
  test(`found: ${name}`, () => {
    const found = check({ [file]: text });
    assert.equal(found.length, 1, found.join("\n"));
    assert.ok(found[0].startsWith(`${file}: `));
  });
}
