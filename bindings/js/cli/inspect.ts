// `relata inspect`: what a model is.

import { Model, type RelationInfo } from "../node.js";
import { folderIn, type OptionTable, parse, UsageError } from "./arguments.js";
import { print, toJson } from "./output.js";

const kOptions: OptionTable = { model: "FOLDER", json: null };

function relationLine(name: string, relation: RelationInfo): string {
  if (relation.effect === "none") return `${name}: none`;
  const parts = [`${relation.index} x ${relation.effect}`, `${relation.numRelations} relations`];
  if (relation.effect === "vectors") {
    parts.push(
      [relation.keys && "keys", relation.values && "values"].filter(Boolean).join(" and "),
    );
  }
  if (relation.ids.length > 0) {
    const last = relation.firstDistance + relation.ids.length - 1;
    parts.push(`distances ${relation.firstDistance} to ${last}`);
  }
  return `${name}: ${parts.join(", ")}`;
}

export async function inspect(argv: readonly string[]): Promise<void> {
  const given = parse("inspect", kOptions, argv);
  if (given.positionals.length > 1) throw new UsageError("inspect takes one model");
  const model = await Model.load(folderIn(given, given.positionals[0]));
  const { info } = model;
  model.dispose();
  if (given.values.json) {
    await print(toJson(info, 2));
    return;
  }
  const { tensors, relation, weightBytes, search, network, ...config } = info;
  const rows = tensors.map(({ name, dtype, shape, bytes }) => [
    name,
    dtype,
    `[${shape.join(", ")}]`,
    String(bytes),
  ]);
  const widths = [0, 1, 2, 3].map((i) => Math.max(0, ...rows.map((row) => row[i]?.length ?? 0)));
  const stored = tensors.reduce((sum, { bytes }) => sum + bytes, 0);
  const lines = [
    ...Object.entries(config).map(([name, value]) => `${name}: ${value}`),
    `network: ${JSON.stringify(network)}`,
    `search: ${JSON.stringify(search)}`,
    relationLine("encoder_self", relation.encoder_self),
    relationLine("decoder_self", relation.decoder_self),
    "",
    ...rows.map((row) =>
      row
        .map((cell, i) => (i < 3 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
        .join("  "),
    ),
    "",
    `${tensors.length} tensors, ${stored} bytes in the file, ${weightBytes} bytes in memory`,
  ];
  await print(`${lines.join("\n")}\n`);
}
