// What the tests of single functions and views see of the page.

export * from "../../web/catalogue";
export * from "../../web/change";
export * from "../../web/distance";
export * from "../../web/graph";
export { workOut } from "../../web/guide/first-layer";
export * from "../../web/map-view";
export * from "../../web/palette";
export * from "../../web/search";
export * from "../../web/state";
export { createSummariser } from "../../web/summariser";
export { tracedKinds } from "../../web/traced-kinds";
export * from "../../web/update";
export { attentionArcs } from "../../web/views/attention-arcs";
export { attentionMap } from "../../web/views/attention-map";
export { distanceMarks } from "../../web/views/distance-marks";
export { distancePicture } from "../../web/views/distance-picture";
export { mapLayout } from "../../web/views/map-layout";
export { mapMarks } from "../../web/views/map-marks";
export { mapScale } from "../../web/views/map-scale";
export { modelPicker } from "../../web/views/model-picker";
export { overview } from "../../web/views/overview";
export { profileLayout } from "../../web/views/profile-layout";
export { distanceReadout, mapReadout } from "../../web/views/readouts";
export { createSlots } from "../../web/views/slots";
export { distanceTable, mapTable } from "../../web/views/tables";
export { translationText } from "../../web/views/translation";
export { wordsOf } from "../../web/words";
