import {
  type FieldRange,
  type Method,
  type SearchChoice,
  type SearchField,
  searchFields,
} from "../search";
import type { Words } from "../words";
import { html } from "./element";
import { radios } from "./radios";

export interface SearchDrawerData {
  readonly search: SearchChoice;
  readonly words: Words;
  readonly onMethod: (method: Method) => void;
  readonly onSearch: (name: SearchField, value: number | null) => void;
}

/** How to search: the method, and the fields that matter to it. */
export function searchDrawer({ search, words, onMethod, onSearch }: SearchDrawerData): Element {
  const methods = Object.keys(words.methods) as Method[];
  return html(
    "div",
    { class: "search" },
    radios("method", words.method, methods, search.method, onMethod, (name) => [
      html("span", {}, words.methods[name]),
    ]),
    html(
      "div",
      { class: "fields" },
      ...searchFields[search.method].map((range) => field(range, search, words, onSearch)),
    ),
    html("p", { class: "hint" }, words.methodHints[search.method]),
  );
}

function field(
  { name, least, most, step }: FieldRange,
  search: SearchChoice,
  words: Words,
  onSearch: SearchDrawerData["onSearch"],
): Element {
  const value = search[name];
  const input = html("input", {
    id: `search-${name}`,
    type: "number",
    min: least,
    max: most,
    step,
    value: value ?? "",
    placeholder: value === null ? words.drawn : null,
  });
  input.addEventListener("change", () =>
    onSearch(name, input.value === "" ? null : Number(input.value)),
  );
  return html(
    "div",
    { class: "field" },
    html("label", { for: `search-${name}` }, words.searchFields[name]),
    input,
  );
}
