// 带走的内容，简体中文。

import type { Figure } from "../state";
import type { takeAwayEnglish } from "./take-away-en";

export const takeAwayChinese: typeof takeAwayEnglish = {
  caption(
    figure: Figure,
    kind: string,
    layer: number,
    head: number,
    text: string,
    translation: string,
    change: string,
  ): string {
    const what = {
      overview: `${kind}注意力的所有头：各距离的平均权重，共用一个刻度；百分数是距离能解释的部分。`,
      map: `${kind}注意力，第 ${layer} 层，头 ${head}：行在看，列被看。`,
      profile: `${kind}注意力按距离，第 ${layer} 层，头 ${head}：平均权重，以及关系对得分的贡献（均值与离散）。`,
      difference: `${kind}注意力，第 ${layer} 层，头 ${head}：改动关系（${change}）后的权重减去原样的权重，词元相同；行在看，列被看。`,
      shift: `${kind}注意力按距离，第 ${layer} 层，头 ${head}：改动关系（${change}）后的平均权重减去原样的平均权重，词元相同。`,
    }[figure];
    return `${what}“${text.trim()}” \u2192 “${translation.trim()}”。由 Relata 生成。`;
  },
  takeFigure: (figure: Figure, format: string) => {
    const name = {
      overview: "总览图",
      map: "词对图",
      profile: "距离图",
      difference: "词对差异",
      shift: "距离差异",
    }[figure];
    return `把${name}保存为 ${format}`;
  },
  takeAway: {
    csv: "这个头的数字（CSV）",
    json: "结果与数字（JSON）",
    html: "当前视图存成一个 HTML 文件",
    link: "当前视图的链接",
    copy: "复制链接",
    copied: "已复制",
  },
};
