// 分步讲解，简体中文。

import type { ModelInfo } from "relata";
import type { Order } from "../guide/first-layer";
import { distance, number, percent } from "./format";
import type { guideEnglish } from "./guide-en";

const bars: Readonly<Record<Order, string>> = {
  relation: "柱是有关系时，短线是没有时",
  labels: "柱是有关系时，短线是没有时",
  positions: "柱是原样，短线是没有位置时",
  nothing: "这个模型中没有任何东西区分位置",
};

export const guideChinese: typeof guideEnglish = {
  open: "展开五个步骤",
  close: "收起五个步骤",
  follow: "跟随",
  tooLong: (most: number) => `这里的数字只为不超过 ${most} 个词元的句子计算。请换一个短一些的。`,
  absent: "这一层的数字没能算出来。",
  shape: (name: string, shape: readonly number[]) => `${name}：${shape.join(" \u00d7 ")}`,
  numbers: (token: string, values: string) => `“${token}”的开头：${values} \u2026`,
  switchedOff: {
    relation: "如果关闭关系",
    labels: "如果关闭关系",
    positions: "如果拿掉位置",
    nothing: "",
  },

  embedding: {
    title: "词变成数字",
    text: (width: number, { positions }: ModelInfo["network"]) => {
      const learned = `每个词元有一行 ${width} 个数，是训练时学到的。`;
      return {
        none: `${learned}其中没有任何东西说明词元站在哪里：同一个词出现在两处，行完全相同。`,
        sinusoidal: `${learned}模型再加上一行只取决于位置的正弦和余弦：同一个词出现在两处，行就不同。`,
        table: `${learned}模型再加上该位置学到的另一行：同一个词出现在两处，行就不同。`,
      }[positions.type];
    },
    off: {
      relation:
        "这里还没有变化。但从此以后再没有什么能区分第一个词和最后一个词：没有任何关系的模型看到的只是一袋词。",
      labels: "这里还没有变化。但从此以后模型对边一无所知：无论你画什么样的图，它读到的都一样。",
      positions:
        "同一个词无论站在哪里，行都相同。这个模型没有关系，后面也就再没有什么能区分第一个词和最后一个词：它看到的只是一袋词。",
      nothing: "",
    },
    picture: "每行一个词元，每列一个数：赭色小于零，紫色大于零。",
    tensor: "嵌入",
  },
  scores: {
    title: "词元提问，其他词元回答",
    text: (size: number, { relation, network }: ModelInfo) => {
      const { effect, keys, index } = relation.encoder_self;
      const between = `两个词元之间的${index === "labels" ? "标签" : "距离"}`;
      const asks = `这一行在每个头里变成三行更短的数，各 ${size} 个：查询（我找什么）、键（我有什么）和值（我传递什么）。查询乘键就是内容得分。`;
      const vectors = keys
        ? `模型还给每个键加上一个只取决于${between}的向量：这就是关系。`
        : "关系在这里什么也不加；这个模型只在值里有关系。";
      const none =
        network.positions.type === "none"
          ? "这就是全部得分：其中没有任何东西取决于词元站在哪里。"
          : "这就是全部得分：词元站在哪里，已经写在它们的行里。";
      const added = {
        vectors,
        bias: `每个头还给每个得分加上一个学到的数，它只取决于${between}：这就是关系。`,
        fixed_slope: `每个头从每个得分中减去固定斜率乘以${between}：这就是关系，它不是学来的。`,
        none,
      }[effect];
      return `${asks}${added}`;
    },
    picture: (token: string, order: Order) => `“${token}”的查询给每个词元的得分：${bars[order]}。`,
    off: (token: string, order: Order, most: number | null) => {
      if (order === "positions") return "得分只来自词本身，无论顺序如何都一样。";
      const words = "得分只剩下词本身的内容。";
      return most === null
        ? words
        : `${words}对“${token}”来说，关系在距离 ${distance(most)} 处作用最大。`;
    },
    queries: "查询",
    keys: "键",
    relationKeys: "关系键",
    relationBias: "关系偏置",
    slopes: "斜率",
  },
  attention: {
    title: "得分变成权重",
    text: (hasValues: boolean) => {
      const average =
        "一行的得分变成正数，且总和为 1：这就是权重。词元的新内容是所有值按这些权重的平均";
      return hasValues ? `${average}；关系在这里加上它的第二个向量，加在值上。` : `${average}。`;
    },
    picture: (token: string, order: Order) => `“${token}”看每个词元有多重：${bars[order]}。`,
    off: (learned: string, off: string) =>
      learned === off
        ? `最强的仍是“${learned}”，但权重变了。`
        : `最强的会变成“${off}”，而不是“${learned}”。`,
    weights: "每个头的权重",
    context: "上下文",
  },
  sublayers: {
    title: "相加、归一、再想一想",
    text: (width: number, gated: boolean) =>
      `各个头的上下文混合后加到词元自己的行上，因此什么也不会丢。然后每个词元独自经过一个宽 ${width} 的小网络${gated ? "（其中另有一行同样多的数，作为前一行的门）" : ""}，结果也加上去。`,
    picture: "这个词元的行：嵌入时、注意力之后、前馈网络之后。",
    off: (similarity: number) =>
      `这一层对该词元的输出会指向别处：两行的余弦为 ${number(similarity, 3)}（1 表示没有变化）。`,
    output: "层的输出",
    rows: ["嵌入", "注意力之后", "前馈之后"],
  },
  decoder: {
    title: "解码器逐词写出",
    text: (encoder: number, decoder: number) =>
      `经过 ${encoder} 个这样的层，原文就读完了。解码器有自己的 ${decoder} 层，每层还会看向原文（没有关系：两个句子没有共同的尺子）。最后一行与词表中的每个词比较，写下最可能的那个。`,
    picture: "写出的词元，以及模型对每一个有多大把握。",
    probability: (share: number) => percent(share),
    off: (similarity: number, order: Order) =>
      `每一层都会失去${order === "labels" ? "对边的了解" : "顺序感"}：仅第一层之后，原文各行的平均余弦就只有 ${number(similarity, 3)}，而且差异逐层扩大。`,
    memory: "编码器输出",
    logits: "每一步的 logits",
  },
};
