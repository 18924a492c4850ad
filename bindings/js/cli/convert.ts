// `relata convert`: any model as a folder of ours.

import { convert as convertModel, type StoredDtype } from "../convert.js";
import { Core } from "../core.js";
import { node } from "../node-platform.js";
import { wasmAddress } from "../wasm-bytes.js";
import { compileCore } from "../wasm-module.js";
import { type OptionTable, parse, UsageError } from "./arguments.js";
import { print } from "./output.js";

const kOptions: OptionTable = { dtype: "TYPE" };
const kDtypes: readonly StoredDtype[] = ["f32", "f16", "int8"];

export async function convert(argv: readonly string[]): Promise<void> {
  const { values, positionals } = parse("convert", kOptions, argv);
  const [source, out, ...more] = positionals;
  if (source === undefined || out === undefined || more.length > 0)
    throw new UsageError("convert takes two names: IN, and OUT, a folder that is made");
  const dtype = kDtypes.find((one) => one === (values.dtype ?? "f32"));
  if (dtype === undefined) {
    throw new UsageError(`--dtype ${values.dtype} is unknown; its types are ${kDtypes.join(", ")}`);
  }
  const core = await Core.instantiate(
    await compileCore(await node.wasmBytes(wasmAddress("baseline", 1))),
    1,
    node,
  );
  const folder = node.folderAt(node.resolve(source));
  const { format, tensors, bytes, files } = await convertModel(core, folder, out, dtype);
  await print(
    `${format}: ${tensors} tensors written as ${dtype}, ${bytes} bytes, to ${out}: ${files.join(", ")}\n`,
  );
}
