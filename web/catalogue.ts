// The models the page can pick from, and captions to try with each.

export interface CatalogueEntry {
  /** Folder below models/, beside the page. */
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

export function catalogueEntry(name: string): CatalogueEntry {
  const entry = catalogue.find((candidate) => candidate.name === name);
  if (!entry) throw new RangeError(`no model called ${name}`);
  return entry;
}
