// Colours: OKLCH against Chromium's own, and scales that survive a print in grey.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "./browser.mjs";
import { importModules } from "./modules.mjs";

let palette;
let browser;
before(async () => {
  [palette, browser] = await Promise.all([importModules(), launch()]);
});
after(() => browser?.close());

test("the corners of sRGB, as CSS Color 4 gives them in OKLCH", () => {
  assert.deepEqual(palette.oklchToRgb(0, 0, 0), [0, 0, 0]);
  assert.deepEqual(palette.oklchToRgb(1, 0, 0), [255, 255, 255]);
  assert.deepEqual(palette.oklchToRgb(0.62796, 0.25768, 29.2339), [255, 0, 0]);
  assert.deepEqual(palette.oklchToRgb(0.51975, 0.17686, 142.495), [0, 128, 0]);
  assert.deepEqual(palette.oklchToRgb(0.45201, 0.31321, 264.052), [0, 0, 255]);
});

test("colours within sRGB are Chromium's to one step", async () => {
  const colors = [];
  for (let hue = 0; hue < 360; hue += 24) {
    for (const lightness of [0.35, 0.55, 0.75, 0.9]) colors.push([lightness, 0.045, hue]);
  }
  const page = await browser.newPage();
  const theirs = await page.evaluate((all) => {
    const context = new OffscreenCanvas(1, 1).getContext("2d");
    return all.map((color) => {
      context.fillStyle = `oklch(${color.join(" ")})`;
      context.fillRect(0, 0, 1, 1);
      return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
    });
  }, colors);
  colors.forEach((color, index) => {
    const ours = palette.oklchToRgb(...color);
    const worst = Math.max(...ours.map((part, at) => Math.abs(part - theirs[index][at])));
    assert.ok(worst <= 1, `${color}: ${ours} here, ${theirs[index]} there`);
  });
});

/** Lightness L* of CIE 1976, the grey a colour prints as: another measure than the one the ramps are made with. */
function lightness(ramp, index) {
  const linear = [...ramp.subarray(3 * index, 3 * index + 3)].map((byte) => {
    const part = byte / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  return luminance > 0.008856 ? 116 * Math.cbrt(luminance) - 16 : 903.3 * luminance;
}

test("in grey every ramp goes one way, in even steps, over most of the range", () => {
  for (const scheme of ["light", "dark"]) {
    const ramps = [0, 1, 2, 3].map((head) => palette.weightRamp(palette.headHue(head, 4), scheme));
    for (const ramp of [...ramps, palette.scoreRamp(0.3, scheme), palette.scoreRamp(0.5, scheme)]) {
      const steps = [];
      for (let i = 15; i < 256; i += 15) steps.push(lightness(ramp, i) - lightness(ramp, i - 15));
      const sign = Math.sign(steps[0]);
      assert.equal(sign, scheme === "light" ? -1 : 1);
      assert.ok(Math.abs(lightness(ramp, 255) - lightness(ramp, 0)) > 50);
      for (const step of steps)
        assert.ok(sign * step > 1.5 && sign * step < 7, `a step of ${step}`);
    }
  }
});

/** How a dichromat sees a colour (Vienot, Brettel, Mollon 1999), in linear light. */
function seenWithout(cone, [red, green, blue]) {
  const mixed = {
    protan: 0.11238 * red + 0.88762 * green,
    deutan: 0.29275 * red + 0.70725 * green,
  };
  const shift = { protan: 0.00401, deutan: -0.02234 };
  return [mixed[cone], mixed[cone], shift[cone] * red - shift[cone] * green + blue];
}

test("differences: paper in the middle, both ends equally dark, and apart for eyes that mix red and green up", () => {
  for (const scheme of ["light", "dark"]) {
    const ramp = palette.differenceRamp(scheme);
    const paper = scheme === "light" ? 96 : 16;
    assert.ok(Math.abs((lightness(ramp, 127) + lightness(ramp, 128)) / 2 - paper) < 4);
    const sign = scheme === "light" ? -1 : 1;
    for (let i = 15; i < 128; i += 15) {
      const [more, less] = [lightness(ramp, 128 + i), lightness(ramp, 127 - i)];
      assert.ok(Math.abs(more - less) < 5, `${i}: ${more}, ${less}`);
      assert.ok(sign * (more - lightness(ramp, 128 + i - 15)) > 1.5);
    }
    for (const cone of ["protan", "deutan"]) {
      const [less, more] = [0.05, 0.95].map((share) =>
        seenWithout(
          cone,
          palette.rampColor(ramp, share).map((byte) => (byte / 255) ** 2.2),
        ),
      );
      // Yellowish against bluish: the one axis that is left.
      assert.ok(less[0] - less[2] > 0.05 && more[2] - more[0] > 0.05, `${cone} ${less} ${more}`);
    }
  }
});

test("heads differ in hue and are as light as one another", () => {
  for (const scheme of ["light", "dark"]) {
    const colors = Array.from({ length: 8 }, (_, head) => palette.headColor(head, 8, scheme));
    assert.equal(new Set(colors).size, 8);
    const greys = colors.map((color) => lightness(Uint8ClampedArray.from(color.match(/\d+/g)), 0));
    assert.ok(Math.max(...greys) - Math.min(...greys) < 9, `${greys}`);
  }
});
