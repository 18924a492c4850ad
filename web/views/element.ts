// Elements in one call. Attributes only, never a style attribute: a strict policy refuses those.

type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>;
type Child = Node | string | null | undefined;

/** `false`, null and undefined leave an attribute out; `true` sets it empty. */
function build<E extends Element>(
  element: E,
  attributes: Attributes,
  children: readonly Child[],
): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function html<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  return build(document.createElement(name), attributes, children);
}

export function svg<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[Name] {
  return build(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}
