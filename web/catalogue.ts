// The models the page can pick from, and captions to try with each; or a model the visitor brought.

export interface CatalogueEntry {
  /** Folder below models/, beside the page; of a visitor's model, what it is called. */
  readonly name: string;
  /** BCP 47 tags, for spelling, hyphenation and screen readers. */
  readonly sourceTag: string;
  readonly targetTag: string;
  readonly examples: readonly string[];
}

export const catalogue: readonly [CatalogueEntry, ...CatalogueEntry[]] = [
  {
    name: "captions-en-de",
    sourceTag: "en",
    targetTag: "de",
    examples: [
      "A man is riding a bicycle down the street.",
      "Two dogs are playing in the snow.",
      "A little girl in a pink dress is climbing the stairs.",
      "Three people are sitting on a bench and looking at the sea.",
    ],
  },
];

/** Where a model comes from: the catalogue, an address, or the visitor's disk. */
export type ModelSource =
  | { readonly kind: "catalogue"; readonly name: string }
  | { readonly kind: "address"; readonly address: string }
  | { readonly kind: "files"; readonly files: readonly File[] };

export function catalogueEntry(name: string): CatalogueEntry {
  const entry = catalogue.find((candidate) => candidate.name === name);
  if (!entry) throw new RangeError(`no model called ${name}`);
  return entry;
}

/** Of a model that is not in the catalogue the languages are not known, and there are no examples. */
export function entryOf(source: ModelSource): CatalogueEntry {
  if (source.kind === "catalogue") return catalogueEntry(source.name);
  return { name: sourceName(source), sourceTag: "und", targetTag: "und", examples: [] };
}

function sourceName(source: Exclude<ModelSource, { kind: "catalogue" }>): string {
  if (source.kind === "address")
    return decodeURIComponent(source.address.replace(/\/+$/, "").split("/").pop() ?? "");
  const [first] = source.files;
  const folder = first?.webkitRelativePath.split("/")[0];
  return folder || (source.files.length === 1 && first ? first.name : "model");
}

/** The address of a model that has one; null for files from the disk. Throws where it is no address. */
export function modelAddress(source: ModelSource, baseUrl: string): URL | null {
  if (source.kind === "files") return null;
  if (source.kind === "address") return new URL(source.address, baseUrl);
  return new URL(`models/${source.name}/`, baseUrl);
}
