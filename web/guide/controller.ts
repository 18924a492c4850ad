// Works out the guide's layer when it is wanted: when it is opened, and for every new sentence while it is open.

import type { State } from "../state";
import { type FirstLayer, workOut } from "./first-layer";

/** The layer of the sentence on show, or null where it cannot be worked out. */
export async function layerOf(state: State, files: readonly File[]): Promise<FirstLayer | null> {
  const { load, traces } = state;
  const trace = traces.find(({ kind }) => kind === "encoder_self");
  if (!trace || load.status !== "ready") return null;
  const tokenIds = trace.queryTokens.map(({ id }) => id);
  return workOut(files, load.info, tokenIds).catch(() => null);
}
