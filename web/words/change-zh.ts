// 改动关系，简体中文。

import type { changeEnglish, graphEnglish } from "./change-en";
import { number, percent } from "./format";

export const graphChinese: typeof graphEnglish = {
  edges: (last: number) => `边，每行一条：起点、终点、标签（1 到 ${last}；没有边是标签 0）`,
  hint: "也可以依次点两个词元：每次它们之间的边的标签加一。",
  wrongLine: (line: number) => `第 ${line} 行不是模型认得的三个数。`,
  label: (label: number) => `标签 ${label}`,
  byLabel: "各标签的平均权重",
  picture: (layer: number, head: number) =>
    `边的颜色表示标签，粗细表示第 ${layer} 层头 ${head} 的权重。`,
};

const introOf = (known: string, left: string) =>
  `同一个句子再译一次，但改动模型对${known}的了解。这就是论文里的消融实验，由你亲手来做：看看${left}还剩下多少。`;
const distanceIntro = introOf("距离", "语序");

export const changeChinese: typeof changeEnglish = {
  intro: { distance: distanceIntro, labels: introOf("边", "图"), nothing: distanceIntro },
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
  nothingToChange: "这个模型没有可以改动的关系：词元的位置即便有所表示，也只写在它的嵌入里。",
  before: "原样",
  after: "改动后",
  mapLabel: (queries: number, keys: number, layer: number, head: number) =>
    `${queries} 个词元看 ${keys} 个词元的注意力差异，第 ${layer} 层，头 ${head}。方向键移动单元格；加减号缩放，Shift 加方向键平移。`,
  shiftLabel: (layer: number, head: number) =>
    `各距离上平均注意力的差异，第 ${layer} 层，头 ${head}。左右方向键移动距离。`,
  weightBefore: "原样",
  weightAfter: "改动后",
  difference: "差异",
  meanShift: "平均权重的差异",
  mapTable: "改动后的权重减去原样的权重：行在看，列被看",
  shiftTable: "各距离的平均权重，原样与改动后",
  mapExplanation:
    "两次读的是同一个原文和同一个译文（原样的译文），所以格子可以逐个相比。紫色的权重增加，赭色的减少；每一行的总和为 0。",
  shiftExplanation: "每根柱是矩阵一条对角线上差异的平均；浅色的只基于一两个词对。",
  moved: (share: number, largest: number) =>
    largest < 0.0005
      ? "这个头看的地方和原来完全一样。"
      : `每一行平均有 ${percent(share)} 的权重换了地方；单个格子的最大变化是 ${number(largest, 2)}。`,
};
