// The machine's limits in this very engine: tests/bench/limits/limits.cpp, timed.

const kMegabytes = 40;
/** Per export: its rounds in a call, how many billion units such a call does, and the unit. */
const kProbes = {
  /** It takes no rounds. */
  read: { rounds: 0, work: (kMegabytes << 20) / 1e9, unit: "GB/s" },
  multiply_add: { rounds: 2_000_000, work: (2_000_000 * 12 * 8) / 1e9, unit: "GFLOP/s" },
  relaxed_multiply_add: { rounds: 2_000_000, work: (2_000_000 * 12 * 8) / 1e9, unit: "GFLOP/s" },
  dot_row: { rounds: 2_000_000, work: (2_000_000 * 64) / 1e9, unit: "GMAC/s" },
  dot_rows: { rounds: 2_000_000, work: (2_000_000 * 64) / 1e9, unit: "GMAC/s" },
  relaxed_dot_rows: { rounds: 2_000_000, work: (2_000_000 * 128) / 1e9, unit: "GMAC/s" },
};
const kCalls = 5;

export async function load(places) {
  const relaxed = await places.bytes(places.limitsRelaxed);
  const bytes = WebAssembly.validate(relaxed) ? relaxed : await places.bytes(places.limits);
  const { instance } = await WebAssembly.instantiate(bytes);
  const exports = instance.exports;
  exports._initialize?.();
  exports.fill();
  return {
    /** Each limit in its unit: the median of a few calls. */
    measure() {
      const found = {};
      for (const [name, { rounds, work, unit }] of Object.entries(kProbes)) {
        if (exports[name] === undefined) continue;
        const times = Array.from({ length: kCalls }, () => {
          const started = performance.now();
          exports[name](rounds, 0.5);
          return performance.now() - started;
        }).sort((a, b) => a - b);
        found[name] = { value: work / (times[kCalls >> 1] / 1e3), unit };
      }
      return found;
    },
  };
}
