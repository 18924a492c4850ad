// Colours of the page, computed in OKLCH so that equal steps of a number are equal steps to the eye.
// One scale per quantity: weights run from paper to the head's hue, scores from light (negative)
// through grey (zero) to dark (positive). Lightness alone already orders both, so both survive a
// print in grey and eyes that mix hues up.

export type Scheme = "light" | "dark";
export type Rgb = readonly [red: number, green: number, blue: number];

/** 256 colours, RGB bytes one after the other: [256 * 3]. */
export type Ramp = Uint8ClampedArray;

const rampSize = 256;

/** Linear light to an sRGB component in 0..1 (IEC 61966-2-1). */
function encodeGamma(linear: number): number {
  return linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055;
}

/** OKLab to sRGB components, outside 0..1 where the colour is outside sRGB (Ottosson 2020). */
function oklabToSrgb(lightness: number, a: number, b: number): Rgb {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    encodeGamma(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    encodeGamma(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    encodeGamma(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

/**
 * OKLCH (lightness 0..1, chroma, hue in degrees) to sRGB bytes. A colour outside sRGB keeps its
 * lightness and hue and gives up chroma.
 */
export function oklchToRgb(lightness: number, chroma: number, hue: number): Rgb {
  const radians = (hue * Math.PI) / 180;
  const slack = 1e-4;
  for (let kept = chroma; ; kept = Math.max(0, kept - 0.004)) {
    const srgb = oklabToSrgb(lightness, kept * Math.cos(radians), kept * Math.sin(radians));
    if (kept === 0 || srgb.every((part) => part >= -slack && part <= 1 + slack)) {
      const [red, green, blue] = srgb.map((part) =>
        Math.round(255 * Math.min(1, Math.max(0, part))),
      );
      return [red as number, green as number, blue as number];
    }
  }
}

/** Hues evenly round the circle, starting from blue; a head keeps its hue on the whole page. */
export function headHue(head: number, numHeads: number): number {
  return (255 + (360 * head) / numHeads) % 360;
}

/** The colour a head is known by: swatches and bars. */
export function headColor(head: number, numHeads: number, scheme: Scheme): string {
  const [lightness, chroma] = scheme === "light" ? [0.56, 0.15] : [0.74, 0.13];
  return css(oklchToRgb(lightness as number, chroma as number, headHue(head, numHeads)));
}

/** Weights 0..1: paper for 0, the head's hue, darkest (in the dark scheme: lightest) for 1. */
export function weightRamp(hue: number, scheme: Scheme): Ramp {
  const [from, to] = scheme === "light" ? [0.968, 0.37] : [0.265, 0.9];
  return ramp((share) => [
    mix(from as number, to as number, share),
    0.004 + 0.17 * share ** 0.8,
    hue,
  ]);
}

/** Scores from the lowest to the highest: ochre below zero, grey at zero (at `zero`, 0..1), violet above. */
export function scoreRamp(zero: number, scheme: Scheme): Ramp {
  const [from, to] = scheme === "light" ? [0.965, 0.34] : [0.265, 0.9];
  const reach = Math.max(zero, 1 - zero, 1e-6);
  return ramp((share) => {
    const chroma = 0.15 * (Math.abs(share - zero) / reach) ** 0.8;
    return [mix(from as number, to as number, share), chroma, share < zero ? 80 : 292];
  });
}

/** Both sides of zero: paper in the middle, less runs to ochre, more to violet, equally dark. */
export function differenceRamp(scheme: Scheme): Ramp {
  const [from, to] = scheme === "light" ? [0.968, 0.42] : [0.265, 0.86];
  return ramp((share) => {
    const far = Math.abs(2 * share - 1);
    return [mix(from as number, to as number, far), 0.17 * far ** 0.8, share < 0.5 ? 70 : 292];
  });
}

/** The entry of a ramp for a share in 0..1. */
export function rampColor(colors: Ramp, share: number): Rgb {
  const at = 3 * Math.round((rampSize - 1) * Math.min(1, Math.max(0, share)));
  return [colors[at] as number, colors[at + 1] as number, colors[at + 2] as number];
}

export function css([red, green, blue]: Rgb): string {
  return `rgb(${red} ${green} ${blue})`;
}

function mix(from: number, to: number, share: number): number {
  return from + (to - from) * share;
}

function ramp(colorAt: (share: number) => Rgb): Ramp {
  const colors = new Uint8ClampedArray(3 * rampSize);
  for (let i = 0; i < rampSize; i += 1) {
    const [lightness, chroma, hue] = colorAt(i / (rampSize - 1));
    colors.set(oklchToRgb(lightness, chroma, hue), 3 * i);
  }
  return colors;
}
