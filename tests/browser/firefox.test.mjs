// The page in another engine, a stock Firefox: it translates what the package translates here, as page.test.mjs holds
// Chromium to, draws it, and alters the relation.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Model } from "relata";
import { serve } from "../../tools/serve.mjs";
import { launchFirefox } from "./bidi.mjs";
import { kPatience, modelFolder } from "./browser.mjs";

const kSentence = "A man is riding a bicycle down the street.";

let firefox;
let model;
before(async () => {
  firefox = await launchFirefox(process.env.RELATA_FIREFOX ?? "/usr/bin/firefox-esr");
  model = await Model.load(modelFolder);
});
after(async () => {
  model?.dispose();
  await firefox?.close();
});

/** A fresh tab: `evaluate` runs a function in it, `until` waits for one to hold. `complaints` are those of its console. */
async function newTab(url) {
  const { send, on } = firefox;
  const { context } = await send("browsingContext.create", { type: "tab" });
  const complaints = [];
  on("log.entryAdded", ({ level, text, source }) => {
    const isHere = source.context === context;
    if (isHere && ["error", "warn"].includes(level)) complaints.push(text);
  });
  await send("session.subscribe", { events: ["log.entryAdded"] });
  const evaluate = async (body, ...args) => {
    const { result, exceptionDetails } = await send("script.evaluate", {
      expression: `(async () => JSON.stringify([await (${body})(...${JSON.stringify(args)})]))()`,
      target: { context },
      awaitPromise: true,
    });
    assert.equal(exceptionDetails, undefined, exceptionDetails?.text);
    return JSON.parse(result.value)[0];
  };
  const until = (condition, ...args) =>
    evaluate(
      `async (...args) => {
        while (!(${condition})(...args)) await new Promise((done) => setTimeout(done, 20));
      }`,
      ...args,
    );
  await send("browsingContext.navigate", { context, url, wait: "complete" });
  const close = () => send("browsingContext.close", { context });
  return { evaluate, until, complaints, close };
}

const output = () => document.querySelector("#output-slot .output").textContent.trim();

for (const isolated of [false, true]) {
  const name = isolated ? "isolated, with threads" : "not isolated";
  test(`Firefox, ${name}: translates, draws every head, and alters the relation`, {
    timeout: 2 * kPatience,
  }, async () => {
    const server = await serve(0, undefined, { isolated });
    const { evaluate, until, complaints, close } = await newTab(server.url);
    await until(() => document.getElementById("figures").hidden === false);
    const expected = await model.run(kSentence);
    assert.equal(await evaluate(() => document.getElementById("source").value), kSentence);
    assert.equal(await evaluate(output), expected.text);
    const cores = await evaluate(() => navigator.hardwareConcurrency);
    const threads = isolated ? Math.min(cores, 4) : 1;
    assert.match(
      await evaluate(() => document.querySelector(".stats").textContent),
      new RegExp(`^${expected.stats.newTokens} tokens, [\\d,]+ per second, ${threads} threads?$`),
    );
    const { numEncoderLayers, numHeads } = model.info;
    await until(
      (count) => document.querySelectorAll("#overview-slot button path").length >= count,
      numEncoderLayers * numHeads,
    );
    const colors = await evaluate(() => {
      const canvas = document.querySelector("#map-picture canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const seen = new Set();
      for (let at = 0; at < data.length; at += 4) seen.add(data.subarray(at, at + 4).join());
      return seen.size;
    });
    assert.ok(colors > 12, `${colors} colours`);
    const off = await model.run(kSentence, { relation: { switch: "off" } });
    assert.notEqual(off.text, expected.text);
    await evaluate(() => document.getElementById("change-off").click());
    await until(() => document.getElementById("text-after")?.textContent.trim());
    assert.equal(
      await evaluate(() => document.getElementById("text-after").textContent.trim()),
      off.text.trim().replaceAll(/\s+/g, " "),
    );
    assert.deepEqual(complaints, []);
    await close();
    await server.stop();
  });
}
