// How a number of the map becomes a colour, and back: the ramp, its ticks, its legend.

import type { AttentionTrace } from "relata";
import {
  css,
  differenceRamp,
  headHue,
  type Ramp,
  rampColor,
  type Scheme,
  scoreRamp,
  weightRamp,
} from "../palette";
import type { Quantity } from "../state";
import { number } from "../words/format";
import { svg } from "./element";

export interface MapScaleData {
  readonly trace: AttentionTrace;
  readonly quantity: Quantity;
  readonly numHeads: number;
  readonly scheme: Scheme;
}

export interface MapScale {
  readonly colors: Ramp;
  /** Where a value stands on the ramp, 0..1. */
  readonly share: (value: number) => number;
  readonly ticks: readonly number[];
  readonly digits: number;
  readonly signed: boolean;
}

export function mapScale({ trace, quantity, numHeads, scheme }: MapScaleData): MapScale {
  if (quantity === "weights") {
    // The root opens up the small weights; the scale is the same for every head, so heads compare.
    const colors = weightRamp(headHue(trace.head, numHeads), scheme);
    return { colors, share: Math.sqrt, ticks: [0, 0.1, 0.25, 0.5, 1], digits: 2, signed: false };
  }
  // Content and relation share a scale, so that they compare with each other.
  let [lowest, highest] = [0, 1e-6];
  for (const values of [trace.contentScores, trace.relationScores ?? []]) {
    for (const value of values) {
      lowest = Math.min(lowest, value);
      highest = Math.max(highest, value);
    }
  }
  const share = (value: number) => (value - lowest) / (highest - lowest);
  const ends = [lowest, highest].filter((end) => Math.abs(share(end) - share(0)) > 0.15);
  return {
    colors: scoreRamp(share(0), scheme),
    share,
    ticks: [0, ...ends],
    digits: 1,
    signed: true,
  };
}

/** Weights gained or lost: no change in the middle, both sides as far as the larger of them. */
export function differenceScale(largest: number, scheme: Scheme): MapScale {
  // Never finer than this, or rounding would be shown as a change.
  const reach = Math.max(largest, 0.02);
  return {
    colors: differenceRamp(scheme),
    share: (value) => 0.5 + value / (2 * reach),
    ticks: [-reach, 0, reach],
    digits: 2,
    signed: true,
  };
}

const width = 200;
const side = 16;
const steps = 50;

/** The colour scale of a head's numbers. */
export function mapLegend(data: MapScaleData): Element {
  return scaleLegend(mapScale(data));
}

/** A colour scale with its numbers. */
export function scaleLegend({ colors, share, ticks, digits, signed }: MapScale): Element {
  const root = svg("svg", {
    class: "legend",
    width: width + 2 * side,
    height: 30,
    "aria-hidden": "true",
  });
  for (let i = 0; i < steps; i += 1) {
    const fill = css(rampColor(colors, i / (steps - 1)));
    root.append(
      svg("rect", {
        x: side + (width * i) / steps,
        y: 0,
        width: width / steps + 0.5,
        height: 9,
        fill,
      }),
    );
  }
  for (const tick of ticks) {
    const x = side + width * share(tick);
    root.append(svg("line", { class: "tick", x1: x, x2: x, y1: 9, y2: 13 }));
    root.append(svg("text", { x, y: 26 }, number(tick, tick === 0 ? 0 : digits, signed)));
  }
  return root;
}
