// The part of the address behind #: model, text, options and view, so that a link restores them. Nothing of it is sent.

import { catalogue, type ModelSource } from "./catalogue";
import { type Method, type SearchField, searchFields, withField } from "./search";
import type { State } from "./state";
import { isLanguage } from "./words";

const kinds = ["encoder_self", "decoder_self", "cross"] as const;
const quantities = ["weights", "contentScores", "relationScores"] as const;
const pictures = ["map", "arcs"] as const;
const switches = ["trained", "off", "keys", "values", "mirrored", "clip"] as const;
const scopes = ["everywhere", "layer", "head"] as const;
const orders = ["layers", "direction", "explained"] as const;

export function addressOf(state: State): string {
  const { source, search, text, language, kind, layer, head, quantity, picture, order } = state;
  const entries: [string, string | number][] = [];
  if (source.kind === "catalogue") entries.push(["model", source.name]);
  if (source.kind === "address") entries.push(["address", source.address]);
  entries.push(["text", text], ["language", language], ["kind", kind]);
  entries.push(["layer", layer], ["head", head], ["quantity", quantity]);
  entries.push(["picture", picture], ["order", order], ["search", search.method]);
  for (const { name } of searchFields[search.method]) {
    const value = search[name];
    if (value !== null) entries.push([name, value]);
  }
  if (state.graph.text !== "") entries.push(["graph", state.graph.text]);
  const { name, clip, scope } = state.change;
  if (name !== "trained") entries.push(["change", name], ["scope", scope]);
  if (name === "clip") entries.push(["clip", clip]);
  if (state.guide.isOpen) entries.push(["guide", "open"]);
  return `#${new URLSearchParams(entries.map(([name, value]) => [name, String(value)]))}`;
}

/** The state an address asks for; what it does not name, or names wrongly, stays as it is. */
export function atAddress(state: State, hash: string, baseUrl: string): State {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const one = <Value extends string>(name: string, values: readonly Value[], otherwise: Value) =>
    values.find((value) => value === given.get(name)) ?? otherwise;
  const index = (name: string, otherwise: number) => {
    const value = given.get(name) ?? "";
    return /^\d{1,4}$/.test(value) ? Number(value) : otherwise;
  };
  const language = given.get("language");
  const methods = Object.keys(searchFields) as Method[];
  let { search } = state;
  if (given.has("search")) {
    search = { ...search, method: one("search", methods, search.method) };
    for (const { name } of searchFields[search.method])
      if (given.has(name)) search = withField(search, name as SearchField, Number(given.get(name)));
  }
  const isOpen = given.get("guide") === "open";
  return {
    ...state,
    source: sourceAt(given, baseUrl) ?? state.source,
    text: given.get("text") ?? state.text,
    language: isLanguage(language) ? language : state.language,
    kind: one("kind", kinds, state.kind),
    layer: index("layer", state.layer),
    head: index("head", state.head),
    quantity: one("quantity", quantities, state.quantity),
    picture: one("picture", pictures, state.picture),
    order: one("order", orders, state.order),
    search,
    graph: { ...state.graph, text: given.get("graph") ?? state.graph.text },
    change: {
      name: one("change", switches, state.change.name),
      clip: index("clip", state.change.clip),
      scope: one("scope", scopes, state.change.scope),
    },
    guide: { ...state.guide, isOpen },
  };
}

/** A link must not make the page fetch from elsewhere by itself: only addresses of its own host are followed. */
function sourceAt(given: URLSearchParams, baseUrl: string): ModelSource | null {
  const name = given.get("model");
  if (catalogue.some((entry) => entry.name === name))
    return { kind: "catalogue", name: name as string };
  const address = given.get("address");
  if (address === null || !URL.canParse(address, baseUrl)) return null;
  const { origin } = new URL(address, baseUrl);
  return origin === new URL(baseUrl).origin ? { kind: "address", address } : null;
}
