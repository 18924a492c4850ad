// The part of the page about the relation changed: the switches, both translations, and the head on show before and after.

import type { ModelInfo } from "relata";
import type { Actions } from "./actions";
import type { CatalogueEntry } from "./catalogue";
import { farthest, offeredSwitches, type SwitchName } from "./change";
import { basisOf } from "./distance";
import { currentDifference, type State } from "./state";
import {
  differenceLegend,
  differenceMap,
  differenceReadout,
  differenceTable,
} from "./views/difference-map";
import { line, nothing, tableButton } from "./views/figure-parts";
import { mapMarks } from "./views/map-marks";
import { changeChooser, changeResult } from "./views/relation-change";
import { shiftMarks, shiftPicture, shiftReadout, shiftTable } from "./views/shift-picture";
import type { Mount } from "./views/slots";
import { numbersToo, pictures, savePicture } from "./views/take-away";
import { wordsOf } from "./words";

export function createChangeRenderer(
  root: Document,
  mount: Mount,
  on: Actions,
): (now: State, entry: CatalogueEntry, info: ModelInfo) => void {
  const figures = root.getElementById("difference") as HTMLElement;
  // One list per model, so that the chooser is not drawn again.
  const switches = new WeakMap<ModelInfo, readonly SwitchName[]>();
  function offeredFor(info: ModelInfo): readonly SwitchName[] {
    const offered = switches.get(info) ?? offeredSwitches(info);
    switches.set(info, offered);
    return offered;
  }

  function renderDifference(now: State): void {
    const difference = currentDifference(now);
    figures.hidden = difference === null;
    if (!difference) return;
    const { scheme, width, point, mapView: view, tables } = now;
    const words = wordsOf(now.language);
    const { onPoint, onView, onPan, onZoom, onMoveCell: onMove, onToggle, onSave } = on;
    const { before: trace, moved, largest } = difference;
    mount("difference-legend-slot", differenceLegend, { difference, scheme });
    mount("difference-slot", differenceMap, {
      ...{ difference, scheme, view, words, width, onPoint, onMove, onView, onPan, onZoom },
    });
    mount("difference-marks-slot", mapMarks, { trace, view, width, point });
    mount("difference-readout", differenceReadout, { difference, point, words });
    mount("difference-words-slot", line, { text: words.change.mapExplanation });
    mount("moved-slot", line, { text: words.change.moved(moved, largest) });
    mount("shift-slot", shiftPicture, {
      ...{ difference, scheme, width, words, onPoint, onMove: on.onMoveDistance },
    });
    mount("shift-marks-slot", shiftMarks, { difference, width, point });
    mount("shift-readout", shiftReadout, { difference, point, words });
    mount("shift-words-slot", line, { text: words.change.shiftExplanation });
    for (const figure of ["difference", "shift"] as const) {
      const isOpen = tables[figure];
      mount(`${figure}-button-slot`, tableButton, { figure, isOpen, words, onToggle });
      const formats = figure === "difference" ? numbersToo : pictures;
      mount(`${figure}-save-slot`, savePicture, { figure, formats, words, onSave });
    }
    if (tables.difference) mount("difference-table-slot", differenceTable, { difference, words });
    else mount("difference-table-slot", nothing, {});
    if (tables.shift) mount("shift-table-slot", shiftTable, { difference, words });
    else mount("shift-table-slot", nothing, {});
  }

  return (now, { targetTag }, info) => {
    const { change, altered, layer, head, translation } = now;
    const words = wordsOf(now.language);
    const offered = offeredFor(info);
    const basis = basisOf(info.relation.encoder_self);
    mount("change-intro-slot", line, { text: words.change.intro[basis] });
    if (offered.length === 0) {
      mount("change-slot", line, { text: words.change.nothingToChange });
      mount("altered-slot", nothing, {});
      figures.hidden = true;
      return;
    }
    mount("change-slot", changeChooser, {
      ...{ change, offered, farthest: farthest(info), layer, head, words, onChange: on.onChange },
    });
    mount("altered-slot", changeResult, { altered, before: translation.text, targetTag, words });
    renderDifference(now);
  };
}
