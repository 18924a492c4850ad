// One load of a model by the package at `module`, timed, in a process of Node or a page.

/** `write`: the ids that the model writes for the text, where there is one, else null. */
export async function load({ module, source, text, count }) {
  const { Model } = await import(module);
  const started = performance.now();
  const model = await Model.load(source, { dtype: "f32" });
  const ms = performance.now() - started;
  const { format, weightBytes, tensors } = model.info;
  const largest = Math.max(...tensors.map(({ bytes }) => bytes));
  const write = async () => {
    if (text === undefined) return null;
    const { tokens } = await model.run(text, { maxNewTokens: count });
    return tokens.map(({ id }) => id);
  };
  return { ms, format, weightBytes, largest, write };
}
