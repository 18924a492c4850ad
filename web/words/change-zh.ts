// 改动关系，简体中文。

import type { changeEnglish } from "./change-en";
import { percent } from "./format";

export const changeChinese: typeof changeEnglish = {
  relation: "关系",
  names: {
    trained: "原样",
    off: "关闭",
    keys: "只留键",
    values: "只留值",
    mirrored: "镜像",
    clip: "截断",
  },
  scope: "范围",
  where: (scope: "everywhere" | "layer" | "head", layer: number, head: number) =>
    ({ everywhere: "所有地方", layer: `仅第 ${layer} 层`, head: `仅第 ${layer} 层的头 ${head}` })[
      scope
    ],
  clip: "能区分的最大距离",
  hint: "选一种改动，句子会重新翻译。",
  before: "原样",
  after: "改动后",
  picture: (layer: number, head: number, shift: number | null) => {
    const bars = `第 ${layer} 层，头 ${head}，各距离的平均权重：柱是原样，短线是改动后。`;
    return shift === null ? bars : `${bars}每一行有 ${percent(shift)} 的权重换了地方。`;
  },
};
