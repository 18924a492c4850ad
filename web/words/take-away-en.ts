// What is taken away, in English.

import type { Figure } from "../state";

export const takeAwayEnglish = {
  /** Under a picture that is taken away: what it shows, and of what. `change` is the relation's, where the picture is of one. */
  caption(
    figure: Figure,
    kind: string,
    layer: number,
    head: number,
    text: string,
    translation: string,
    change: string,
  ): string {
    const what = {
      overview: `${kind} attention of every head: mean weight by distance, one scale for all; the percentage is what distance explains.`,
      map: `${kind} attention, layer ${layer}, head ${head}: rows look, columns are looked at.`,
      profile: `${kind} attention by distance, layer ${layer}, head ${head}: mean weight, and what the relation adds to the score (mean and spread).`,
      difference: `${kind} attention, layer ${layer}, head ${head}: weight with the relation changed (${change}) minus weight as trained, over the same tokens; rows look, columns are looked at.`,
      shift: `${kind} attention by distance, layer ${layer}, head ${head}: mean weight with the relation changed (${change}) minus mean weight as trained, over the same tokens.`,
    }[figure];
    return `${what} \u201c${text.trim()}\u201d \u2192 \u201c${translation.trim()}\u201d. Made with Relata.`;
  },
  takeFigure: (figure: Figure, format: string) => {
    const name = {
      overview: "the picture of the overview",
      map: "the picture of the pairs",
      profile: "the picture of the distances",
      difference: "the difference of the pairs",
      shift: "the difference by distance",
    }[figure];
    return `Save ${name} as ${format}`;
  },
  takeAway: {
    csv: "Numbers of this head as CSV",
    json: "Result and numbers as JSON",
    html: "This view as one HTML file",
    link: "Link to this view",
    copy: "Copy the link",
    copied: "Copied",
  },
};
