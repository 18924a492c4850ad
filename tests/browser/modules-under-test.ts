// What the tests of single functions and views see of the page.

export * from "../../web/catalogue";
export * from "../../web/distance";
export * from "../../web/palette";
export * from "../../web/state";
export { attentionMap } from "../../web/views/attention-map";
export { distanceMarks } from "../../web/views/distance-marks";
export { distancePicture } from "../../web/views/distance-picture";
export { mapLayout } from "../../web/views/map-layout";
export { mapMarks } from "../../web/views/map-marks";
export { mapScale } from "../../web/views/map-scale";
export { modelPicker } from "../../web/views/model-picker";
export { profileLayout } from "../../web/views/profile-layout";
export { distanceReadout, mapReadout } from "../../web/views/readouts";
export { createSlots } from "../../web/views/slots";
export { distanceTable, mapTable } from "../../web/views/tables";
export { translationText } from "../../web/views/translation";
export * as words from "../../web/words";
