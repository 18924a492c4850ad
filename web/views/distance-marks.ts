import type { AttentionTrace } from "relata";
import { distanceProfile } from "../distance";
import { litDistance, type Point } from "../state";
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
  const root = svg("svg", {
    class: "marks",
    width: layout.width,
    height: layout.height,
    "aria-hidden": "true",
  });
  const distance = litDistance(point);
  if (distance === null) return root;
  const top = layout.weight.range()[1] ?? 0;
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
