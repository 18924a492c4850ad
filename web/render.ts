// From the state to the page: which view stands in which slot, with which data.

import type { AttentionTrace, ModelInfo, RelationInfo } from "relata";
import type { Actions } from "./actions";
import { addressOf } from "./address";
import { type CatalogueEntry, catalogue, entryOf, type ModelSource } from "./catalogue";
import { basisOf } from "./distance";
import { longestSentence } from "./guide/first-layer";
import { guide } from "./guide/guide";
import { createChangeRenderer } from "./render-change";
import { currentTrace, numLayers, type State } from "./state";
import { showWords } from "./static-words";
import { attentionArcs } from "./views/attention-arcs";
import { headChooser, kindChooser } from "./views/attention-chooser";
import { attentionMap } from "./views/attention-map";
import { bringForm } from "./views/bring-form";
import { distanceMarks } from "./views/distance-marks";
import { distancePicture } from "./views/distance-picture";
import {
  guideButton,
  headline,
  line,
  nothing,
  pictureChooser,
  quantityChooser,
  tableButton,
} from "./views/figure-parts";
import { graph } from "./views/graph";
import { languageSwitch } from "./views/language-switch";
import { mapMarks } from "./views/map-marks";
import { mapLegend } from "./views/map-scale";
import { mapTools } from "./views/map-tools";
import { modelPicker } from "./views/model-picker";
import { overview } from "./views/overview";
import { prompt } from "./views/prompt";
import { distanceReadout, mapReadout } from "./views/readouts";
import { searchDrawer } from "./views/search-drawer";
import { sequenceList } from "./views/sequences";
import { createSlots } from "./views/slots";
import { distanceTable, mapTable, overviewTable } from "./views/tables";
import { pictures, savePicture, takeAway } from "./views/take-away";
import { runControl, translationText } from "./views/translation";
import { wordsOf } from "./words";

/**
 * Returns the function that draws a state. Where figures come that were not there, it builds them out of sight, a part a
 * call, and shows them together: one task would be a long one. It tells whether parts are still to come.
 */
export function createRenderer(root: Document, on: Actions): (state: State) => boolean {
  const mount = createSlots(root);
  const renderChange = createChangeRenderer(root, mount, on);
  const figures = root.getElementById("figures") as HTMLElement;
  const parts = [renderOverview, renderPairs, renderProfile, renderRest];
  let numBuilt = 0;

  // One entry per source, so that a view with the same entry is not drawn again.
  const entries = new WeakMap<ModelSource, CatalogueEntry>();
  function entryFor(source: ModelSource): CatalogueEntry {
    const entry = entries.get(source) ?? entryOf(source);
    entries.set(source, entry);
    return entry;
  }

  function render(now: State): boolean {
    const { language, source, load, text, translation, isBringing, search, sequences } = now;
    const words = wordsOf(language);
    const { onSubmit, onStop, onLanguage, onMethod, onSearch } = on;
    const entry = entryFor(source);
    showWords(root, language, words, source.kind !== "catalogue");
    mount("language-slot", languageSwitch, { language, words, onLanguage });
    mount("model-slot", modelPicker, {
      ...{ models: catalogue, entry, load, isBringing, words, onPick: on.onPick },
      ...{ onRetry: on.onRetry, onCancel: on.onCancel, onBring: on.onBring },
    });
    const { onFiles, onAddress, onForget } = on;
    if (isBringing) mount("bring-slot", bringForm, { words, onFiles, onAddress, onForget });
    else mount("bring-slot", nothing, {});
    mount("prompt-slot", prompt, { entry, text, words, onSubmit });
    mount("output-slot", translationText, { entry, text, translation, words });
    const ready = load.status === "ready";
    const threads = ready ? load.threads : 1;
    mount("run-slot", runControl, { ready, threads, translation, words, onStop });
    mount("sequences-slot", sequenceList, { sequences, targetTag: entry.targetTag, words });
    mount("search-slot", searchDrawer, { search, words, onMethod, onSearch });
    const trace = currentTrace(now);
    numBuilt = trace && load.status === "ready" ? Math.min(numBuilt + 1, parts.length) : 0;
    figures.hidden = numBuilt < parts.length;
    if (!trace || load.status !== "ready") return false;
    for (const part of parts.slice(0, numBuilt)) part(now, trace, load.info);
    return figures.hidden;
  }

  function renderRest(now: State, _trace: AttentionTrace, info: ModelInfo): void {
    const words = wordsOf(now.language);
    const { onSave, onCopy } = on;
    for (const figure of ["overview", "map", "profile"] as const)
      mount(`${figure}-save-slot`, savePicture, { figure, formats: pictures, words, onSave });
    const link = addressOf(now);
    mount("take-away-slot", takeAway, { link, isCopied: now.isCopied, words, onSave, onCopy });
    renderGuide(now, info);
    renderChange(now, entryFor(now.source), info);
    renderGraph(now, info);
  }

  function renderGraph(now: State, info: ModelInfo): void {
    const { index, numRelations: numLabels } = info.relation.encoder_self;
    (root.getElementById("graph") as HTMLElement).hidden = index !== "labels";
    if (index !== "labels") return;
    const { text, picked } = now.graph;
    const { scheme, traces, layer, head } = now;
    const isShown = (trace: AttentionTrace) =>
      trace.kind === "encoder_self" && trace.layer === layer && trace.head === head;
    mount("graph-slot", graph, {
      ...{ text, numLabels, picked, trace: traces.find(isShown) ?? null, scheme },
      ...{ words: wordsOf(now.language), onGraph: on.onGraph, onNode: on.onNode },
    });
  }

  function renderGuide(now: State, info: ModelInfo): void {
    const { guide: chosen, traces, sequences, head, scheme } = now;
    const words = wordsOf(now.language);
    mount("guide-button-slot", guideButton, { isOpen: chosen.isOpen, words, onGuide: on.onGuide });
    const { layer, token } = chosen;
    const trace = traces.find(({ kind }) => kind === "encoder_self");
    if (!chosen.isOpen || layer === "pending" || !trace) mount("guide-slot", nothing, {});
    else if (layer === null) {
      const isLong = trace.queryTokens.length > longestSentence;
      const text = isLong ? words.guide.tooLong(longestSentence) : words.guide.absent;
      mount("guide-slot", line, { text });
    } else {
      const written = sequences[0]?.tokens ?? [];
      mount("guide-slot", guide, {
        ...{ layer, info, trace, written, head, token, scheme, words, onToken: on.onGuideToken },
      });
    }
  }

  function renderOverview(now: State, _: AttentionTrace, { numHeads }: ModelInfo): void {
    const { kind, layer, head, order, traces, summaries, scheme } = now;
    const words = wordsOf(now.language);
    const { onKind, onOrder, onPickHead, onLayer, onHead } = on;
    mount("kind-slot", kindChooser, { kind, order, words, onKind, onOrder });
    mount("overview-slot", overview, {
      ...{ kind, traces, summaries, layer, head, order, numHeads, scheme, words },
      onHead: onPickHead,
    });
    const isOpen = now.tables.overview;
    const { onToggle } = on;
    mount("overview-button-slot", tableButton, { figure: "overview", isOpen, words, onToggle });
    if (isOpen) mount("overview-table-slot", overviewTable, { kind, traces, summaries, words });
    else mount("overview-table-slot", nothing, {});
    const choice = { layer, head, numLayers: numLayers(now, kind), numHeads, scheme, words };
    mount("chooser-slot", headChooser, { ...choice, onLayer, onHead });
  }

  function relationOf({ kind }: State, info: ModelInfo): RelationInfo | null {
    return kind === "cross" ? null : info.relation[kind];
  }

  function renderPairs(now: State, trace: AttentionTrace, info: ModelInfo): void {
    const { numHeads } = info;
    const { kind, quantity, scheme, width, point, tables, picture, mapView: view, token } = now;
    const words = wordsOf(now.language);
    const { onQuantity, onPoint, onToggle, onPicture, onZoom, onView, onPan, onToken } = on;
    const hasRelation = trace.relationScores !== null;
    const isMap = picture === "map";
    (root.getElementById("map-tools") as HTMLElement).hidden = !isMap;
    mount("picture-slot", pictureChooser, { picture, words, onPicture });
    if (isMap) {
      mount("zoom-slot", mapTools, { zoom: view.zoom, words, onZoom });
      mount("quantity-slot", quantityChooser, { quantity, hasRelation, words, onQuantity });
      mount("map-legend-slot", mapLegend, { trace, quantity, numHeads, scheme });
      mount("map-slot", attentionMap, {
        ...{ trace, quantity, numHeads, scheme, view, words, width },
        ...{ onPoint, onMove: on.onMoveCell, onView, onPan, onZoom },
      });
      mount("map-marks-slot", mapMarks, { trace, view, width, point });
    } else {
      mount("zoom-slot", nothing, {});
      mount("map-slot", attentionArcs, { trace, token, numHeads, scheme, width, words, onToken });
      mount("map-marks-slot", nothing, {});
    }
    mount("map-readout", isMap ? mapReadout : nothing, { trace, point, words });
    const mapWords = () => words.mapExplanation(kind, quantity, basisOf(relationOf(now, info)));
    mount("map-words-slot", line, { text: isMap ? mapWords() : words.arcsExplanation });
    mount("map-button-slot", tableButton, { figure: "map", isOpen: tables.map, words, onToggle });
    if (tables.map) mount("map-table-slot", mapTable, { trace, quantity, words });
    else mount("map-table-slot", nothing, {});
  }

  function renderProfile(now: State, trace: AttentionTrace, info: ModelInfo): void {
    const { kind, scheme, width, point, tables } = now;
    const words = wordsOf(now.language);
    const { onPoint, onToggle } = on;
    const relation = relationOf(now, info);
    mount("headline-slot", headline, { trace, words });
    mount("profile-slot", distancePicture, {
      ...{ trace, relation, numHeads: info.numHeads, scheme, width, words },
      ...{ onPoint, onMove: on.onMoveDistance },
    });
    mount("profile-marks-slot", distanceMarks, { trace, width, point });
    mount("profile-readout", distanceReadout, { trace, point, words });
    mount("profile-words-slot", line, { text: words.profileExplanation(kind, basisOf(relation)) });
    mount("relation-note-slot", line, { text: relation ? words.relationNote(relation) : "" });
    const isOpen = tables.profile;
    mount("profile-button-slot", tableButton, { figure: "profile", isOpen, words, onToggle });
    if (isOpen) mount("profile-table-slot", distanceTable, { trace, words });
    else mount("profile-table-slot", nothing, {});
  }

  return render;
}
