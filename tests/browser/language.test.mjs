// Two languages, whole and of one shape.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { drawn, launch, newPage, open, pageUrl } from "./browser.mjs";
import { importModules } from "./modules.mjs";

let browser;
let words;
before(async () => {
  browser = await launch();
  ({ wordsOf: words } = await importModules());
});
after(() => browser?.close());

/** Every sentence of a language by its path; functions count as sentences. */
function sentences(object, path = "") {
  return Object.entries(object).flatMap(([name, value]) =>
    typeof value === "object" ? sentences(value, `${path}${name}.`) : [[`${path}${name}`, value]],
  );
}

test("both languages say the same things, and no sentence is left in English", () => {
  const english = sentences(words("en"));
  const chinese = new Map(sentences(words("zh")));
  assert.deepEqual([...chinese.keys()].sort(), english.map(([path]) => path).sort());
  for (const [path, sentence] of english) {
    const other = chinese.get(path);
    assert.equal(typeof other, typeof sentence, path);
    if (typeof sentence !== "string") assert.equal(other.length, sentence.length, path);
    else if (/[a-z]{3}/.test(sentence)) assert.match(other, /\p{Script=Han}/u, path);
  }
});

/** Letters of the page's own words: not of tokens, models, languages' own names and the visitor's text. */
const ownText = (page) =>
  page.evaluate(() => {
    const skipped =
      '[lang="de"], [lang="en"]:not(html), select, .labels, kbd, .wordmark, script, .languages';
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) {
      const { parentElement, data } = walker.currentNode;
      if (!parentElement.closest(skipped) && parentElement.checkVisibility()) texts.push(data);
    }
    return texts.join("\n");
  });

test("the switch translates the whole page, and the choice is remembered", async () => {
  const { page, complaints } = await newPage(browser);
  await open(page);
  assert.equal(await page.evaluate(() => document.documentElement.lang), "en");
  await page.locator("#language-zh").click();
  await drawn(page);
  assert.equal(await page.evaluate(() => document.documentElement.lang), "zh-Hans");
  await page.locator("#map-table-button").click();
  await page.locator("#profile-table-button").click();
  await drawn(page);
  const left = (await ownText(page))
    .replace(
      /Self-Attention with Relative Position Representations|Shaw|Uszkoreit|Vaswani|Tab|Shift|SVG|PNG|CSV|JSON|HTML/g,
      "",
    )
    .match(/[A-Za-z]{3,}/g);
  const tokens = await page.locator("#map-table-slot th").allTextContents();
  const foreign = (left ?? []).filter((word) => !tokens.some((token) => token.includes(word)));
  assert.deepEqual(foreign, []);
  await page.reload();
  await page.locator("#map-picture").waitFor();
  assert.match(await page.locator("h1").textContent(), /翻译/);
  assert.match(await page.title(), /注意力/);
  assert.equal(await page.locator("#language-zh").getAttribute("aria-pressed"), "true");
  assert.deepEqual(complaints, []);
  await page.context().close();
});

test("a browser that speaks Chinese is greeted in Chinese", async () => {
  const { page } = await newPage(browser, { locale: "zh-CN" });
  await page.goto(pageUrl);
  await page.locator("h1", { hasText: "翻译" }).waitFor();
  await page.context().close();
});
