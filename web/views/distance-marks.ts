import type { AttentionTrace } from "relata";
import { distanceProfile } from "../distance";
import { litDistance, type Point } from "../state";
import type { AxisLayout } from "./distance-axis";
import { svg } from "./element";
import { profileLayout } from "./profile-layout";

export interface DistanceMarksData {
  readonly trace: AttentionTrace;
  readonly width: number;
  readonly point: Point | null;
}

/** The lit distance, laid over both panels. */
export function distanceMarks({ trace, width, point }: DistanceMarksData): Element {
  const layout = profileLayout(distanceProfile(trace), width);
  return litBand(layout, layout.weight.range()[1] ?? 0, point);
}

/** A band over the lit distance, from `top` down to the axis, on a sheet of the picture's size. */
export function litBand(
  layout: AxisLayout & { readonly width: number; readonly height: number },
  top: number,
  point: Point | null,
): Element {
  const root = svg("svg", {
    class: "marks",
    width: layout.width,
    height: layout.height,
    "aria-hidden": "true",
  });
  const distance = litDistance(point);
  if (distance === null) return root;
  root.append(
    svg("rect", {
      class: "lit-band",
      "data-distance": distance,
      x: layout.x(distance) - layout.band / 2,
      y: top - 4,
      width: layout.band,
      height: layout.axisTop - top + 4,
    }),
  );
  return root;
}
