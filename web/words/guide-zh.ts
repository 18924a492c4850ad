// 分步讲解，简体中文。

import { distance, number, percent } from "./format";
import type { guideEnglish } from "./guide-en";

export const guideChinese: typeof guideEnglish = {
  open: "展开五个步骤",
  close: "收起五个步骤",
  follow: "跟随",
  absent: "这一层的数字只为本页自己的模型类型（Shaw 关系）和不超过 96 个词元的句子计算。",
  withRelation: "有关系",
  withoutRelation: "关闭关系",
  shape: (name: string, shape: readonly number[]) => `${name}：${shape.join(" \u00d7 ")}`,
  numbers: (token: string, values: string) => `“${token}”的开头：${values} \u2026`,
  switchedOff: "如果关闭关系",

  embedding: {
    title: "词变成数字",
    text: (width: number) =>
      `每个词元有一行 ${width} 个数，是训练时学到的。其中没有任何东西说明词元站在哪里：同一个词出现在两处，行完全相同。`,
    off: "这里还没有变化。但从此以后再没有什么能区分第一个词和最后一个词：没有任何关系的模型看到的只是一袋词。",
    picture: "每行一个词元，每列一个数：赭色小于零，紫色大于零。",
    tensor: "嵌入",
  },
  scores: {
    title: "词元提问，其他词元回答",
    text: (size: number) =>
      `这一行在每个头里变成三行更短的数，各 ${size} 个：查询（我找什么）、键（我有什么）和值（我传递什么）。查询乘键就是内容得分。模型还给每个键加上一个只取决于两个词元之间距离的向量：这就是关系。`,
    picture: (token: string) => `“${token}”的查询给每个词元的得分：柱是有关系时，短线是没有时。`,
    off: (token: string, before: number) =>
      `得分只剩下词本身的内容。对“${token}”来说，关系在距离 ${distance(before)} 处作用最大。`,
    queries: "查询",
    keys: "键",
    relationKeys: "关系键",
  },
  attention: {
    title: "得分变成权重",
    text: "一行的得分变成正数，且总和为 1：这就是权重。词元的新内容是所有值按这些权重的平均；关系在这里加上它的第二个向量，加在值上。",
    picture: (token: string) => `“${token}”看每个词元有多重：柱是有关系时，短线是没有时。`,
    off: (learned: string, off: string) =>
      learned === off
        ? `最强的仍是“${learned}”，但权重变了。`
        : `最强的会变成“${off}”，而不是“${learned}”。`,
    weights: "每个头的权重",
    context: "上下文",
  },
  sublayers: {
    title: "相加、归一、再想一想",
    text: (width: number) =>
      `各个头的上下文混合后加到词元自己的行上，因此什么也不会丢。然后每个词元独自经过一个宽 ${width} 的小网络，结果也加上去。`,
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
    off: (similarity: number) =>
      `每一层都会失去顺序感：仅第一层之后，原文各行的平均余弦就只有 ${number(similarity, 3)}，而且差异逐层扩大。`,
    memory: "编码器输出",
    logits: "每一步的 logits",
  },
};
