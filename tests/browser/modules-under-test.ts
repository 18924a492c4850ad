// What the tests of single functions and views see of the page.

export * from "../../web/catalogue";
export * from "../../web/change";
export * from "../../web/difference";
export * from "../../web/distance";
export * from "../../web/graph";
export * from "../../web/guide/arithmetic";
export { longestSentence, workOut } from "../../web/guide/first-layer";
export { formulaOf } from "../../web/guide/formula";
export * from "../../web/map-view";
export * from "../../web/palette";
export * from "../../web/search";
export * from "../../web/state";
export { createSummariser } from "../../web/summariser";
export { tracedKinds } from "../../web/traced-kinds";
export * from "../../web/update";
export { attentionArcs } from "../../web/views/attention-arcs";
export { headChooser, kindChooser } from "../../web/views/attention-chooser";
export { attentionMap } from "../../web/views/attention-map";
export { bringForm } from "../../web/views/bring-form";
export {
  differenceLegend,
  differenceMap,
  differenceReadout,
  differenceTable,
} from "../../web/views/difference-map";
export { distanceMarks } from "../../web/views/distance-marks";
export { distancePicture } from "../../web/views/distance-picture";
export {
  guideButton,
  headline,
  pictureChooser,
  quantityChooser,
  tableButton,
} from "../../web/views/figure-parts";
export { graph } from "../../web/views/graph";
export { languageSwitch } from "../../web/views/language-switch";
export { mapLayout } from "../../web/views/map-layout";
export { mapMarks } from "../../web/views/map-marks";
export { mapLegend, mapScale } from "../../web/views/map-scale";
export { mapTools } from "../../web/views/map-tools";
export { modelPicker } from "../../web/views/model-picker";
export { overview } from "../../web/views/overview";
export { profileLayout } from "../../web/views/profile-layout";
export { prompt } from "../../web/views/prompt";
export { distanceReadout, mapReadout } from "../../web/views/readouts";
export { changeChooser, changeResult } from "../../web/views/relation-change";
export { searchDrawer } from "../../web/views/search-drawer";
export { sequenceList } from "../../web/views/sequences";
export { shiftMarks, shiftPicture, shiftReadout, shiftTable } from "../../web/views/shift-picture";
export { createSlots } from "../../web/views/slots";
export { distanceTable, mapTable, overviewTable } from "../../web/views/tables";
export { numbersToo, pictures, savePicture, takeAway } from "../../web/views/take-away";
export { runControl, translationText } from "../../web/views/translation";
export { wordsOf } from "../../web/words";
