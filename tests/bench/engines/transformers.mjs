// transformers.js on onnxruntime-web: its own generate(), which does not say how long the encoder takes.

export async function load(places, { dtype }) {
  const { AutoModelForSeq2SeqLM, BaseStreamer, env, Tensor } = await import(places.transformers);
  env.allowRemoteModels = false;
  env.allowLocalModels = true;
  env.useBrowserCache = false;
  env.localModelPath = places.models;
  env.backends.onnx.wasm.wasmPaths = places.transformersFiles;
  env.backends.onnx.wasm.numThreads = 1;
  const model = await AutoModelForSeq2SeqLM.from_pretrained(places.modelName, {
    device: "wasm",
    dtype: dtype === "int8" ? "q8" : "fp32",
  });

  /** Told of the start token first, then of every token as it is made. */
  class Clock extends BaseStreamer {
    times = [];
    put() {
      this.times.push(performance.now());
    }
    end() {}
  }

  return {
    async generate(ids, { count }) {
      const tensor = (values) =>
        new Tensor("int64", BigInt64Array.from(values, BigInt), [1, values.length]);
      const streamer = new Clock();
      const started = performance.now();
      const made = await model.generate({
        inputs: tensor(ids),
        attention_mask: tensor(ids.map(() => 1)),
        max_new_tokens: count,
        do_sample: false,
        streamer,
      });
      const tokens = made.tolist()[0].slice(1).map(Number);
      const [, first] = streamer.times;
      const stepMs = (streamer.times.at(-1) - first) / (count - 1);
      return { encodeMs: null, firstMs: first - started, stepMs, tokens };
    },
  };
}
