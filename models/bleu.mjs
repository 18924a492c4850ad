// Corpus BLEU (Papineni et al. 2002), cased, on mteval-v13a tokens, as sacrebleu computes it by default:
// where no n-gram of some length matches, its count is taken as 1/2, 1/4, … in order of length.

const kMaxOrder = 4;

/** The tokens of mteval-v13a. */
export function tokenize13a(text) {
  const plain = text
    .replaceAll("<skipped>", "")
    .replaceAll("-\n", "")
    .replaceAll("\n", " ")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">");
  const split = ` ${plain} `
    // ASCII punctuation but ' , - . stands alone.
    .replace(/[!-&(-+/:-@[-`{-~]/g, " $& ")
    // A period or comma does, unless it is between digits.
    .replace(/([^0-9])([.,])/g, "$1 $2 ")
    .replace(/([.,])([^0-9])/g, " $1 $2")
    // A dash does after a digit.
    .replace(/([0-9])(-)/g, "$1 $2 ");
  return split.split(/\s+/).filter((token) => token !== "");
}

/** How often each n-gram of 1 to 4 tokens occurs, by order. */
function countNgrams(tokens) {
  return Array.from({ length: kMaxOrder }, (_, order) => {
    const counts = new Map();
    for (let i = 0; i + order < tokens.length; i++) {
      const ngram = tokens.slice(i, i + order + 1).join(" ");
      counts.set(ngram, (counts.get(ngram) ?? 0) + 1);
    }
    return counts;
  });
}

/** Matches and totals by order, and both lengths, of one hypothesis (tokens) against its references (lists of tokens). */
function compare(hypothesis, references) {
  const distance = (length) => Math.abs(length - hypothesis.length);
  // The reference nearest in length, the shorter of two.
  const referenceLength = references
    .map((reference) => reference.length)
    .reduce((best, length) => {
      const closer = distance(length) - distance(best);
      return closer < 0 || (closer === 0 && length < best) ? length : best;
    });
  const inReferences = references.map(countNgrams);
  const matches = [];
  const totals = [];
  for (const [order, counts] of countNgrams(hypothesis).entries()) {
    let [matched, total] = [0, 0];
    for (const [ngram, count] of counts) {
      const most = Math.max(...inReferences.map((reference) => reference[order].get(ngram) ?? 0));
      matched += Math.min(count, most);
      total += count;
    }
    matches.push(matched);
    totals.push(total);
  }
  return { matches, totals, hypothesisLength: hypothesis.length, referenceLength };
}

/** BLEU, 0 to 100, from counts by order. */
export function scoreOf({ matches, totals, hypothesisLength, referenceLength }) {
  const brevityPenalty =
    hypothesisLength === 0 ? 0 : Math.exp(Math.min(0, 1 - referenceLength / hypothesisLength));
  let smoothing = 1;
  const precisions = totals.map((total, order) => {
    if (total === 0) return 0;
    if (matches[order] === 0) smoothing *= 2;
    return (100 * (matches[order] || 1 / smoothing)) / total;
  });
  const nothing = matches.every((count) => count === 0);
  const mean = nothing ? 0 : precisions.reduce((product, p) => product * p ** (1 / kMaxOrder), 1);
  return { bleu: brevityPenalty * mean, precisions, brevityPenalty };
}

/**
 * BLEU of a corpus. hypotheses: texts; references: one list of texts or several, each as long as hypotheses.
 * Returns { bleu, precisions, brevityPenalty, hypothesisLength, referenceLength }, lengths in tokens.
 */
export function corpusBleu(hypotheses, ...references) {
  if (hypotheses.length === 0) throw new RangeError("BLEU needs a sentence");
  for (const list of references) {
    if (list.length === hypotheses.length) continue;
    throw new RangeError(`${hypotheses.length} hypotheses, but ${list.length} references`);
  }
  const zeros = () => new Array(kMaxOrder).fill(0);
  const sum = { matches: zeros(), totals: zeros(), hypothesisLength: 0, referenceLength: 0 };
  for (const [i, hypothesis] of hypotheses.entries()) {
    const tokenized = references.map((list) => tokenize13a(list[i]));
    const one = compare(tokenize13a(hypothesis), tokenized);
    for (let order = 0; order < kMaxOrder; order++) {
      sum.matches[order] += one.matches[order];
      sum.totals[order] += one.totals[order];
    }
    sum.hypothesisLength += one.hypothesisLength;
    sum.referenceLength += one.referenceLength;
  }
  const { hypothesisLength, referenceLength } = sum;
  return { ...scoreOf(sum), hypothesisLength, referenceLength };
}
