// The present view as one HTML file: pictures, tables and numbers inside, no script, nothing fetched.

import { escaped } from "./picture";

export interface StandaloneParts {
  readonly language: string;
  readonly title: string;
  readonly text: string;
  readonly translation: string;
  /** Each an SVG document, with its table. */
  readonly figures: readonly { readonly svg: string; readonly table: Element | null }[];
  readonly json: string;
  readonly note: string;
}

const style = `
:root { color-scheme: light dark; }
body { max-width: 74rem; margin: 0 auto; padding: 2rem 1rem; font: 1rem/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums; }
h1 { line-height: 1.15; letter-spacing: -0.02em; }
.texts { display: grid; gap: 0.5rem; font-size: 1.375rem; line-height: 1.35; }
figure { margin: 2rem 0; }
svg { max-width: 100%; height: auto; }
details { font-size: 0.8125rem; }
table { border-collapse: collapse; }
th, td { padding: 0.2rem 0.75rem 0.2rem 0; border-bottom: 1px solid #8884; font-weight: 400; text-align: end; white-space: nowrap; }
.table { overflow: auto; }
`;

export function standalonePage(parts: StandaloneParts): string {
  const figures = parts.figures.map(({ svg, table }) => {
    const inside = table
      ? `<details><summary>${escaped(table.getAttribute("aria-label") ?? "")}</summary>${table.outerHTML}</details>`
      : "";
    return `<figure>${svg}${inside}</figure>`;
  });
  // Nothing in a script element may look like its end.
  const json = parts.json.replaceAll("<", "\\u003c");
  return `<!doctype html>
<html lang="${parts.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>${escaped(parts.title)}</title>
<style>${style}</style>
</head>
<body>
<h1>${escaped(parts.title)}</h1>
<div class="texts"><div>${escaped(parts.text)}</div><div>${escaped(parts.translation)}</div></div>
${figures.join("\n")}
<p>${escaped(parts.note)}</p>
<script type="application/json" id="numbers">${json}</script>
</body>
</html>
`;
}
