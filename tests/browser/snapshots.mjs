// Each view as text, from stored attentions: one element a line, numbers to two digits, what is painted as colours.

import { readFileSync } from "node:fs";
import { cases, given } from "./snapshot-cases.mjs";
import { openViews } from "./views-page.mjs";

export const snapshotFolder = new URL("snapshots/", import.meta.url);

const kStored = JSON.parse(readFileSync(new URL("fixtures/heads.json", import.meta.url), "utf8"));

/** In the document: an element as lines. */
function markupOf(root) {
  // The last digits of a path differ between engines, and say nothing.
  const round = (text) =>
    text.replace(/-?\d+\.\d{3,}(e-?\d+)?/g, (number) => `${Number(Number(number).toFixed(2))}`);
  const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  /** A few dozen pixels of what is painted, row by row. */
  const painted = (canvas) => {
    const count = 9;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return Array.from({ length: count }, (_, row) => {
      const y = Math.floor(((row + 0.5) * canvas.height) / count);
      const colors = Array.from({ length: count }, (_, column) => {
        const at = 4 * (y * canvas.width + Math.floor(((column + 0.5) * canvas.width) / count));
        const [red, green, blue, alpha] = data.subarray(at, at + 4);
        const hex = [red, green, blue].map((part) => part.toString(16).padStart(2, "0")).join("");
        return alpha === 255 ? hex : "clear";
      });
      return colors.join(" ");
    });
  };
  const linesOf = (node, indent) => {
    if (node.nodeType !== Node.ELEMENT_NODE)
      return node.data === ""
        ? []
        : [`${indent}${escaped(JSON.stringify(node.data).slice(1, -1))}`];
    const attributes = [...node.attributes].map(
      ({ name, value }) => ` ${name}="${escaped(round(value)).replaceAll('"', "&quot;")}"`,
    );
    const state = ["value", "checked"]
      .filter((name) => ["INPUT", "SELECT", "TEXTAREA"].includes(node.tagName) && node[name])
      .map((name) => ` :${name}="${node[name]}"`);
    const open = `${indent}<${node.localName}${attributes.join("")}${state.join("")}>`;
    if (node.tagName === "CANVAS")
      return [open, ...painted(node).map((line) => `${indent} ${line}`)];
    const children = [...node.childNodes];
    if (children.every(({ nodeType }) => nodeType === Node.TEXT_NODE))
      return [`${open}${escaped(node.textContent)}`];
    return [open, ...children.flatMap((child) => linesOf(child, `${indent} `))];
  };
  return linesOf(root, "").join("\n");
}

/** The document that the cases run in. */
export async function openCases(browser) {
  const page = await openViews(browser);
  await page.evaluate(given, kStored);
  return page;
}

/** The text of a view's snapshot: each of its states under its name. */
export async function snapshotOf(page, view) {
  const parts = [];
  for (const [state, source] of Object.entries(cases[view])) {
    const markup = await page.evaluate(`(${markupOf})(show((${source})()))`);
    parts.push(`== ${state}\n${markup}\n`);
  }
  return parts.join("\n");
}

export const snapshotNames = Object.keys(cases);
