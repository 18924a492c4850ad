// Works out the guide's layer when it is wanted: when it is opened, and for every new sentence while it is open.

import { labelMatrix, parseGraph } from "../graph";
import type { State } from "../state";
import { createBreathing } from "../turn";
import { type FirstLayer, workOut } from "./first-layer";
import type { ReadTensor } from "./layer-weights";

/** The layer of the sentence on show; null where it is too long, or the model has gone meanwhile. */
export async function layerOf(state: State, read: ReadTensor): Promise<FirstLayer | null> {
  const { load, traces, graph } = state;
  const trace = traces.find(({ kind }) => kind === "encoder_self");
  if (!trace || load.status !== "ready") return null;
  const tokenIds = trace.queryTokens.map(({ id }) => id);
  const { index, numRelations } = load.info.relation.encoder_self;
  const labels =
    index === "labels"
      ? labelMatrix(parseGraph(graph.text, numRelations).edges, tokenIds.length)
      : null;
  return workOut(read, load.info, tokenIds, labels, createBreathing()).catch(() => null);
}
