// Strings with a number each, searched by prefix: a hash table from (node, UTF-16 unit) to node. Linear in what is
// read, and built in tens of milliseconds for a vocabulary of 250,000 pieces.

const kNone = -1;

export class Trie {
  /** Per slot: the parent (kNone where empty), the unit and the node they lead to. */
  #parents: Int32Array;
  #units: Uint16Array;
  #nodes: Int32Array;
  /** Per node: its number, or kNone. Node 0 is the root. */
  #values: Int32Array;
  #count = 1;
  /** Where the match of `longest` ends. */
  matchEnd = 0;

  /** expected: how many nodes there may be, to begin with. */
  constructor(expected = 0) {
    let size = 512;
    while (size <= expected) size *= 2;
    this.#parents = new Int32Array(2 * size).fill(kNone);
    this.#units = new Uint16Array(2 * size);
    this.#nodes = new Int32Array(2 * size);
    this.#values = new Int32Array(size).fill(kNone);
  }

  /** Gives a string its number, in place of one it had. value: at least 0. */
  set(key: string, value: number): void {
    let node = 0;
    for (let i = 0; i < key.length; i++) {
      const unit = key.charCodeAt(i);
      const slot = this.#slot(node, unit);
      if (this.#parents[slot] === kNone) {
        this.#parents[slot] = node;
        this.#units[slot] = unit;
        this.#nodes[slot] = this.#count;
        node = this.#count++;
        if (this.#count === this.#values.length) this.#grow();
      } else {
        node = this.#nodes[slot] as number;
      }
    }
    this.#values[node] = value;
  }

  /** The number of a string. */
  get(key: string): number | undefined {
    let node = 0;
    for (let i = 0; i < key.length && node !== kNone; i++)
      node = this.child(node, key.charCodeAt(i));
    const value = node === kNone ? kNone : this.value(node);
    return value === kNone ? undefined : value;
  }

  /** The node one unit further, or -1. */
  child(node: number, unit: number): number {
    const slot = this.#slot(node, unit);
    return this.#parents[slot] === kNone ? kNone : (this.#nodes[slot] as number);
  }

  /** The number of the string that ends in this node, or -1. */
  value(node: number): number {
    return this.#values[node] as number;
  }

  /** The number of the longest string that the text goes on with at `at`, or -1; sets matchEnd. */
  longest(text: string, at: number): number {
    let found = kNone;
    let node = 0;
    for (let i = at; i < text.length; i++) {
      node = this.child(node, text.charCodeAt(i));
      if (node === kNone) break;
      const value = this.value(node);
      if (value === kNone) continue;
      found = value;
      this.matchEnd = i + 1;
    }
    return found;
  }

  /** The slot of a pair, or the empty one where it belongs. */
  #slot(node: number, unit: number): number {
    const parents = this.#parents;
    const mask = parents.length - 1;
    let slot = (Math.imul(node, 0x9e3779b1) ^ Math.imul(unit, 0x85ebca6b)) >>> 0;
    slot = (slot ^ (slot >>> 15)) & mask;
    while (parents[slot] !== kNone && (parents[slot] !== node || this.#units[slot] !== unit))
      slot = (slot + 1) & mask;
    return slot;
  }

  /** Keeps at least half of the slots empty. */
  #grow(): void {
    const [parents, units, nodes, values] = [this.#parents, this.#units, this.#nodes, this.#values];
    const size = parents.length * 2;
    this.#values = new Int32Array(values.length * 2).fill(kNone);
    this.#values.set(values);
    this.#parents = new Int32Array(size).fill(kNone);
    this.#units = new Uint16Array(size);
    this.#nodes = new Int32Array(size);
    for (let i = 0; i < parents.length; i++) {
      const parent = parents[i] as number;
      if (parent === kNone) continue;
      const slot = this.#slot(parent, units[i] as number);
      this.#parents[slot] = parent;
      this.#units[slot] = units[i] as number;
      this.#nodes[slot] = nodes[i] as number;
    }
  }
}
