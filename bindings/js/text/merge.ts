// Byte pair encoding's loop (Sennrich 2016): of all neighbours that merge, the best pair first, the leftmost of equals.
// A queue keeps it at n log n.

export interface Merge {
  /** Lower merges earlier. */
  readonly rank: number;
  /** The symbol the two become. */
  readonly symbol: number;
}

/** Merges symbols until nothing merges any more. find: what two neighbours become, if anything. */
export function mergeSymbols(
  symbols: readonly number[],
  find: (left: number, right: number) => Merge | undefined,
): number[] {
  const size = symbols.length;
  const current = Int32Array.from(symbols);
  const next = Int32Array.from(symbols, (_, i) => (i + 1 < size ? i + 1 : -1));
  const previous = Int32Array.from(symbols, (_, i) => i - 1);
  const gone = new Uint8Array(size);
  const queue = new Queue();
  const offer = (left: number, right: number) => {
    const merge = find(current[left] as number, current[right] as number);
    if (merge !== undefined) queue.push({ at: left, ...merge });
  };
  for (let i = 1; i < size; i++) offer(i - 1, i);
  for (;;) {
    const top = queue.pop();
    if (top === undefined) break;
    const { at, symbol } = top;
    const right = next[at] as number;
    if (gone[at] === 1 || right < 0) continue;
    // What was offered may have been merged otherwise since.
    if (find(current[at] as number, current[right] as number)?.symbol !== symbol) continue;
    current[at] = symbol;
    gone[right] = 1;
    const after = next[right] as number;
    next[at] = after;
    if (after >= 0) previous[after] = at;
    const before = previous[at] as number;
    if (before >= 0) offer(before, at);
    if (after >= 0) offer(at, after);
  }
  const result: number[] = [];
  for (let i = 0; i >= 0 && i < size; i = next[i] as number) result.push(current[i] as number);
  return result;
}

interface Offer extends Merge {
  readonly at: number;
}

/** A binary heap: the lowest rank on top, of equal ones the leftmost. */
class Queue {
  readonly #heap: Offer[] = [];

  push(offer: Offer): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(offer);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as Offer;
      if (!before(offer, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = offer;
  }

  pop(): Offer | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1] as Offer, heap[child] as Offer))
        child++;
      if (!before(heap[child] as Offer, last)) break;
      heap[at] = heap[child] as Offer;
      at = child;
    }
    heap[at] = last;
    return top;
  }
}

function before(a: Offer, b: Offer): boolean {
  return a.rank < b.rank || (a.rank === b.rank && a.at < b.at);
}
