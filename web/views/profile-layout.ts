// Where things stand in the profile: two panels on one axis of distances. Shared by the picture and
// by the mark laid over it.

import { type ScaleLinear, scaleLinear } from "d3-scale";
import type { DistanceRow } from "../distance";
import { type AxisLayout, acrossDistances } from "./distance-axis";

export interface ProfileLayout extends AxisLayout {
  readonly weight: ScaleLinear<number, number>;
  readonly relation: ScaleLinear<number, number>;
}

const left = 40;
const headRoom = 46;
const weightHeight = 180;
const relationHeight = 130;
const betweenPanels = 40;
const axisRoom = 52;

/** Panels for at least one row, `width` CSS pixels wide. */
export function profileLayout(rows: readonly DistanceRow[], width: number): ProfileLayout {
  const weightBottom = headRoom + weightHeight;
  const relationTop = weightBottom + betweenPanels;
  const axisTop = relationTop + relationHeight;
  let [lowest, highest] = [0, 0];
  for (const { relation } of rows) {
    if (!relation) continue;
    lowest = Math.min(lowest, relation.mean - relation.spread);
    highest = Math.max(highest, relation.mean + relation.spread);
  }
  // An all-zero relation still wants an axis with room on both sides.
  if (lowest === highest) [lowest, highest] = [-1, 1];
  return {
    ...acrossDistances(rows, width, left),
    height: axisTop + axisRoom,
    weight: scaleLinear(
      [0, Math.max(1e-6, ...rows.map((row) => row.meanWeight))],
      [weightBottom, headRoom],
    ).nice(4),
    relation: scaleLinear([lowest, highest], [axisTop, relationTop]).nice(4),
    axisTop,
  };
}
