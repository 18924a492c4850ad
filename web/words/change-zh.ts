// 改动关系，简体中文。

import type { changeEnglish, graphEnglish } from "./change-en";
import { percent } from "./format";

export const graphChinese: typeof graphEnglish = {
  edges: (last: number) => `边，每行一条：起点、终点、标签（1 到 ${last}；没有边是标签 0）`,
  hint: "也可以依次点两个词元：每次它们之间的边的标签加一。",
  wrongLine: (line: number) => `第 ${line} 行不是模型认得的三个数。`,
  label: (label: number) => `标签 ${label}`,
  byLabel: "各标签的平均权重",
  picture: (layer: number, head: number) =>
    `边的颜色表示标签，粗细表示第 ${layer} 层头 ${head} 的权重。`,
};

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
