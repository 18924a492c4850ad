// A graph over the tokens, for models whose relation is by labels: its edges as text, and as a matrix of labels.

export interface Edge {
  readonly from: number;
  readonly to: number;
  readonly label: number;
}

export interface ParsedGraph {
  readonly edges: readonly Edge[];
  /** The first line that is no edge, counted from 1; null where all are. */
  readonly wrongLine: number | null;
}

/** One edge per line, "from to label"; label 0 is that of pairs without an edge. */
export function parseGraph(text: string, numLabels: number): ParsedGraph {
  const edges: Edge[] = [];
  let wrongLine: number | null = null;
  text.split("\n").forEach((line, at) => {
    if (line.trim() === "") return;
    const [, from, to, label] = /^\s*(\d{1,4})\D+(\d{1,4})\D+(\d{1,4})\s*$/.exec(line) ?? [];
    if (label !== undefined && Number(label) < numLabels)
      edges.push({ from: Number(from), to: Number(to), label: Number(label) });
    else wrongLine ??= at + 1;
  });
  return { edges, wrongLine };
}

/** [length * length], row = query; a later line overrules an earlier one, and edges of absent tokens count for nothing. */
export function labelMatrix(edges: readonly Edge[], length: number): Int32Array {
  const labels = new Int32Array(length * length);
  for (const { from, to, label } of edges)
    if (from < length && to < length) labels[from * length + to] = label;
  return labels;
}

/** The text with the label of one pair raised by one, past the last back to none. */
export function withNextLabel(text: string, from: number, to: number, numLabels: number): string {
  const { edges } = parseGraph(text, numLabels);
  const isPair = (edge: Edge) => edge.from === from && edge.to === to;
  const label = ((edges.findLast(isPair)?.label ?? 0) + 1) % numLabels;
  const kept = edges.filter((edge) => !isPair(edge));
  const all = label === 0 ? kept : [...kept, { from, to, label }];
  return all.map((edge) => `${edge.from} ${edge.to} ${edge.label}`).join("\n");
}
