// An empty document with the page's views in it and stored attentions to draw: no model, no network.

import { readFileSync } from "node:fs";
import { compileModules } from "./modules.mjs";

export const storedTraces = JSON.parse(
  readFileSync(new URL("fixtures/traces.json", import.meta.url), "utf8"),
).traces;

/**
 * In the document: `views` (the modules), `words` (English), `traces` by kind, `calls` (what the views told), `show`,
 * `showMap` and `showProfile`.
 */
export async function openViews(browser) {
  const page = await browser.newPage({ viewport: { width: 800, height: 1200 } });
  const code = await compileModules();
  await page.route("http://views.test/**", (route) =>
    route.request().url().endsWith(".js")
      ? route.fulfill({ contentType: "text/javascript", body: code })
      : route.fulfill({ contentType: "text/html", body: "<!doctype html><body></body>" }),
  );
  await page.goto("http://views.test/");
  await page.evaluate(async (stored) => {
    window.views = await import("/views.js");
    window.words = views.wordsOf("en");
    const floats = (values) => values && Float32Array.from(values);
    window.traces = Object.fromEntries(
      stored.map((trace) => [
        trace.kind,
        {
          ...trace,
          weights: floats(trace.weights),
          contentScores: floats(trace.contentScores),
          relationScores: floats(trace.relationScores),
        },
      ]),
    );
    window.calls = [];
    window.show = (element) => {
      document.body.replaceChildren(element);
      return element;
    };
    window.showMap = (trace, more) =>
      show(
        views.attentionMap({
          ...{ trace, quantity: "weights", numHeads: 4, scheme: "light", width: 480 },
          ...{ words, view: views.wholeMap },
          ...{ onPoint: (point) => calls.push(point), onMove: (...by) => calls.push(by), ...more },
        }),
      );
    window.showProfile = (trace, more) =>
      show(
        views.distancePicture({
          ...{ trace, relation: null, numHeads: 4, scheme: "light", width: 480, words },
          ...{ onPoint: (point) => calls.push(point), onMove: (by) => calls.push(by), ...more },
        }),
      );
  }, storedTraces);
  return page;
}
