import { html } from "./element";

/** A group of radio buttons that look like words in a row; arrow keys move within it. */
export function radios<Value extends string | number>(
  name: string,
  legend: string,
  values: readonly Value[],
  chosen: Value,
  onChoose: (value: Value) => void,
  face: (value: Value) => readonly Node[],
): Element {
  const options = values.map((value) => {
    const input = html("input", {
      type: "radio",
      name,
      id: `${name}-${value}`,
      value,
      checked: value === chosen,
    });
    input.addEventListener("change", () => onChoose(value));
    return html(
      "label",
      { class: "option" },
      input,
      html("span", { class: "face" }, ...face(value)),
    );
  });
  return html(
    "fieldset",
    { class: name },
    html("legend", {}, legend),
    html("div", { class: "options" }, ...options),
  );
}
