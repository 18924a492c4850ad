// Files read by ranges over HTTP: what is asked for, and answers that are not what was asked for.

import assert from "node:assert/strict";
import { test } from "node:test";
import { errorOf, moduleOf, withServer } from "./fixtures.mjs";

const { fetchFolder } = await moduleOf("fetched.js");
// So long that a jump to its end asks for a range.
const bytes = Uint8Array.from({ length: 3 << 20 }, (_, i) => (i * 7) % 251);
const kFar = 2 << 20;

const whole = (response) => response.writeHead(200, { "content-length": bytes.length }).end(bytes);

/** The right answer to a request for a range. */
const parted = (response, { from, end }, change = {}) =>
  response
    .writeHead(206, {
      ...{
        "content-length": end - from,
        "content-range": `bytes ${from}-${end - 1}/${bytes.length}`,
      },
      ...change,
    })
    .end(bytes.subarray(from, end));

/** Runs `use` with a file of a server and the ranges it was asked for, null being all; `answer` answers a range. */
function withFile(answer, use) {
  const asked = [];
  return withServer(
    (_name, response, request) => {
      const { range = null } = request.headers;
      asked.push(range);
      if (range === null) return whole(response);
      const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(range);
      const end = to === "" ? bytes.length : Number(to) + 1;
      return answer(response, { from: Number(from), end });
    },
    async (address) => {
      const file = await fetchFolder(new URL(`${address}.bin`)).open("");
      try {
        return await use(file, asked);
      } finally {
        await file.close();
      }
    },
  );
}

async function readAt(file, offset, length) {
  const pieces = [];
  for await (const piece of file.read(offset, length)) pieces.push(...piece);
  return Uint8Array.from(pieces);
}

test("a part is asked for by its place, with or without an end, and given as it is", async () => {
  for (const header of [undefined, { "content-range": [] }]) {
    await withFile(
      (response, range) => parted(response, range, header),
      async (file, asked) => {
        assert.deepEqual(await file.peek(kFar, 5), bytes.slice(kFar, kFar + 5));
        assert.deepEqual(await readAt(file, kFar + 9, 7), bytes.slice(kFar + 9, kFar + 16));
        assert.deepEqual(asked, [null, `bytes=${kFar}-${kFar + 4}`, `bytes=${kFar + 9}-`]);
        assert.equal(file.seekable, true);
      },
    );
  }
});

test("a server that gives the whole file instead is asked for no part again", async () => {
  await withFile(whole, async (file, asked) => {
    assert.deepEqual(await file.peek(kFar, 5), bytes.slice(kFar, kFar + 5));
    assert.deepEqual(await readAt(file, kFar + 9, 7), bytes.slice(kFar + 9, kFar + 16));
    assert.deepEqual(asked, [null, `bytes=${kFar}-${kFar + 4}`]);
    assert.equal(file.seekable, false);
  });
});

test("another part than was asked for is an error that names both", async () => {
  const total = bytes.length;
  const wrong = [
    [({ from, end }) => ({ from: from - 1, end: end - 1 }), "earlier"],
    [({ from, end }) => ({ from, end: end - 1 }), "shorter"],
    [({ end }) => ({ from: 0, end }), "from the start"],
  ];
  for (const [other, name] of wrong) {
    await withFile(
      (response, range) => parted(response, other(range)),
      async (file) => {
        for (const use of [() => file.peek(kFar, 5), () => readAt(file, kFar, 5)]) {
          const { code, message } = await errorOf(use);
          assert.equal(code, "network", name);
          assert.match(message, /answered with "bytes \d+-\d+\/\d+" where bytes 2097152-\d+ were/);
        }
      },
    );
  }
  for (const given of [`items ${kFar}-${kFar + 4}/${total}`, `bytes */${total}`, ""]) {
    await withFile(
      (response, range) => parted(response, range, { "content-range": given }),
      async (file) => {
        const { code, message } = await errorOf(() => file.peek(kFar, 5));
        assert.equal(code, "network");
        assert.ok(message.includes(`answered with "${given}"`), message);
      },
    );
  }
  // A size nobody knows is no other size.
  await withFile(
    (response, range) =>
      parted(response, range, { "content-range": `bytes ${range.from}-${range.end - 1}/*` }),
    async (file) => assert.deepEqual(await file.peek(kFar, 5), bytes.slice(kFar, kFar + 5)),
  );
});

test("a part where the whole was asked for is an error", async () => {
  const part = { from: 0, end: 1000 };
  await withServer(
    (_name, response) => parted(response, part),
    async (address) => {
      const opened = errorOf(fetchFolder(new URL(`${address}/`)).open("config.json"));
      const { code, where, message } = await opened;
      assert.deepEqual([code, where], ["network", `${address}/config.json`]);
      assert.match(message, /HTTP status 206, a part of it, where the whole was asked for/);
    },
  );
  // The same when a file is gone through again from its start.
  let requests = 0;
  await withServer(
    (_name, response) => {
      requests += 1;
      if (requests === 1) whole(response);
      else parted(response, part);
    },
    async (address) => {
      const file = await fetchFolder(new URL(`${address}.bin`)).open("");
      await readAt(file, 0, 10);
      await file.pause();
      const { code, message } = await errorOf(readAt(file, 0, 10));
      assert.equal(code, "network");
      assert.match(message, /HTTP status 206/);
      await file.close();
    },
  );
});

test("what is peeked at in a pause is asked for", async () => {
  await withFile(parted, async (file, asked) => {
    assert.deepEqual(await file.peek(0, 10), bytes.slice(0, 10));
    await file.pause();
    const near = 1 << 19;
    assert.deepEqual(await file.peek(2, near), bytes.slice(2, 2 + near));
    assert.deepEqual(await readAt(file, 0, 10), bytes.slice(0, 10));
    assert.equal(asked[0], null);
  });
});
