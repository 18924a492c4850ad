// 简体中文。

import type { AttentionKind, ModelInfo, RelationInfo } from "relata";
import {
  type Basis,
  type DistanceRow,
  type HeadSummary,
  type RelationRange,
  strongest,
} from "../distance";
import type { LoadPhase, Quantity, Translation } from "../state";
import type { Words } from ".";
import { changeChinese, graphChinese } from "./change-zh";
import { chineseFailure } from "./failure-zh";
import { distance, megabytes, number, percent, thinSpace } from "./format";
import { guideChinese } from "./guide-zh";
import { takeAwayChinese } from "./take-away-zh";

const kinds: Readonly<Record<AttentionKind, string>> = {
  encoder_self: "编码器",
  decoder_self: "解码器",
  cross: "交叉",
};

const kindHints: Readonly<Record<AttentionKind, string>> = {
  encoder_self: "原文看原文",
  decoder_self: "译文看译文",
  cross: "译文看原文",
};

const quantities: Readonly<Record<Quantity, string>> = {
  weights: "权重",
  contentScores: "内容得分",
  relationScores: "关系得分",
};

const quantityExplanations: Readonly<Record<Quantity, string>> = {
  weights: "每一行是一个词元，看向所有其他词元；一行的权重之和为 1。",
  contentScores: "两个词元的内容本身对得分的贡献（变成权重之前）。",
  relationScores: "两个词元之间的距离对得分的贡献。沿对角线的条纹就是距离在起作用。",
};

const labelScores = "两个词元之间的边的标签对得分的贡献；没有边就是标签 0。";

export const chinese: Words = {
  guide: guideChinese,
  kinds,
  kindHints,
  quantities,

  page: {
    title: "Relata：按距离看注意力",
    heading: "翻译模型看得有多远？",
    lede: "一个小模型就在你的浏览器里把英文图片说明译成德文，并展示每个词看了哪些词，以及其中有多少只是因为距离。",
    ownLede: "你的模型就在你的浏览器里运行；本页展示每个词看了哪些词，以及其中有多少只是因为距离。",
    translate: "翻译",
    translation: "译文",
    attention: "注意力",
    everyHead: "一眼看遍所有注意力头",
    everyHeadIntro:
      "每一层都有几个注意力头同时扫视句子。每张小图是一个头：它在各个距离上看得有多重。点选一个即可放大。",
    changeHeading: "改动关系，看看会怎样",
    differenceTitle: "权重去了哪里",
    differenceSubhead: "每一对的权重：改动后减原样",
    shiftTitle: "移了多远",
    graphHeading: "句子的图",
    graphIntro: "这个模型的关系不是距离，而是词元之间的标签。画出边，文字会带着它们重新读一遍。",
    guideHeading: "五步看懂原理",
    guideIntro: "模型编码器的第一层，就用你的句子一个数一个数地算给你看。选一个词元跟着走。",
    options: "选项",
    takeAwayHeading: "带走",
    takeAwayIntro: "文件就在浏览器里生成；链接里有文字、选项和视图，不会向任何地方发送。",
    oneHead: "细看一个头",
    mapTitle: "哪个词元看哪个词元",
    mapSubhead: "行在看，列被看",
    profileTitle: "看得有多远",
    distanceNote:
      "距离等于键的位置减去查询的位置：\u22121 是前一个词元，+1 是后一个。你输入的内容不会离开本页。",
    paper:
      "依据 Shaw、Uszkoreit 与 Vaswani 2018 年的论文 Self-Attention with Relative Position Representations。",
  },
  languageLabel: "语言",

  model: "模型",
  starting: "正在启动\u2026",
  loadProgress: "模型载入进度",
  bytesOf: (loaded: number, total: number, phase: LoadPhase) => {
    const from = { download: "", cache: "，来自本浏览器的缓存", read: "，读取中" }[phase];
    return `${megabytes(loaded)} / ${megabytes(total)}${thinSpace}MB${from}`;
  },
  cancel: "取消",
  loadStopped: "载入已取消。",
  bring: "使用自己的模型",
  bringExplanation:
    "拖放到本页任何地方即可：Hugging Face 或 CTranslate2 格式的文件夹、其中的文件、GGUF 文件或 Argos 包。它不会离开这台电脑。",
  chooseFiles: "选择文件",
  chooseFolder: "选择文件夹",
  modelAddress: "或输入地址",
  load: "载入",
  forget: "清除本浏览器缓存的模型",

  options: "选项",
  method: "搜索",
  methods: { greedy: "贪心", beams: "束搜索", sampling: "采样" },
  methodHints: {
    greedy: "每次取概率最大的词元。",
    beams: "同时保留几个译文，最好的胜出。",
    sampling: "按概率抽取词元。种子相同，译文就相同。",
  },
  searchFields: {
    numBeams: "束宽",
    lengthPenalty: "长度惩罚",
    temperature: "温度",
    topK: "前 k 个（0：全部）",
    topP: "累计概率 p",
    seed: "种子",
    numReturnSequences: "显示译文数",
    maxNewTokens: "最多词元",
    repetitionPenalty: "重复惩罚",
    noRepeatNgramSize: "不重复的 n 元组",
  },
  drawn: "随机",
  sequences: (found: number) => `${found} 个译文及其得分（对数概率）`,
  score: "得分",
  tryAgain: "重试",
  languages: { en: "英文", de: "德文" },
  examples: "例句",
  run: "翻译",
  stop: "停止",
  nothingToTranslate: (language: string) => `还没有要翻译的内容。请输入${language}，或点一个例句。`,

  attention: "注意力",
  layer: "层",
  head: "头",
  show: "显示",
  order: "排列",
  orders: {
    layers: "按原位",
    direction: "按看的方向",
    explained: "按距离的解释力",
  },
  layerNumber: (layer: number) => `第 ${layer} 层`,
  headNumber: (head: number) => `头 ${head}`,
  headLabel: (layer: number, head: number) => `第 ${layer} 层，头 ${head}`,
  headShort: (layer: number, head: number) => `层${layer} 头${head}`,
  headGlance: ({ rows, explained }: HeadSummary) => {
    const top = strongest(rows);
    return `在距离 ${distance(top.distance)} 处最强，平均权重 ${number(top.meanWeight, 2)}；距离解释了 ${percent(explained)}`;
  },
  overviewLabel: (kind: AttentionKind) => `${kinds[kind]}注意力的所有头`,
  overviewCaption: (from: number, to: number, top: number) =>
    `柱：距离 ${distance(from)} 到 ${distance(to)} 的平均权重，所有小图共用 0 到 ${number(top, 2)} 的刻度；细线是距离 0。下方数字是权重的变化中仅由距离就能解释的比例：高的头看位置，低的头看内容。`,

  change: changeChinese,
  graph: graphChinese,

  picture: "图",
  pictures: { map: "矩阵", arcs: "弧线" },
  zoomIn: "放大",
  zoomOut: "缩小",
  zoomReset: "整张图",
  mapRole: "矩阵图",
  mapLabel: (queries: number, keys: number, layer: number, head: number) =>
    `${queries} 个词元看 ${keys} 个词元的注意力，第 ${layer} 层，头 ${head}。方向键移动单元格；加减号缩放，Shift 加方向键平移。`,
  arcsRole: "弧线图",
  arcsLabel: (token: string, layer: number, head: number) =>
    `“${token}”看向哪里，第 ${layer} 层，头 ${head}。上下方向键选择词元。`,
  arcsLooks: "在看",
  arcsLookedAt: "被看",
  arcsExplanation: "一个词元和它所看的一切：弧线越粗，权重越大；权重之和为 1。在左侧选一个词元。",
  chartRole: "图表",
  profileLabel: (layer: number, head: number) =>
    `各距离上的平均注意力，第 ${layer} 层，头 ${head}。左右方向键移动距离。`,
  mapHint: "指向一个单元格，或用 Tab 选中矩阵后用方向键移动。",
  profileHint: "指向一根柱，或用 Tab 选中图表后用左右键移动。",
  query: "查询",
  key: "键",
  distance: "距离",
  pairs: "词对",
  weight: "权重",
  contentScore: "内容得分",
  relationScore: "关系得分",
  meanWeight: "平均权重",
  strongestAt: "最强处",
  meanDistance: "平均距离",
  explained: "距离的解释力",
  spread: "离散",
  none: "无",
  earlier: "\u2190 前面的词元",
  later: "后面的词元 \u2192",
  ...takeAwayChinese,
  showTable: "以表格显示",
  hideTable: "收起表格",
  profileTable: "各距离上的注意力",
  mapTable: (quantity: Quantity) => `${quantities[quantity]}：行在看，列被看`,

  mapExplanation(kind: AttentionKind, quantity: Quantity, basis: Basis): string {
    const order = "右上角是空的：词元看不到它后面的词元。";
    const output = "每一行刚读完自己的词元，正要写下一个。";
    const more = { encoder_self: [], decoder_self: [output, order], cross: [output] }[kind];
    const isLabels = quantity === "relationScores" && basis === "labels";
    return [isLabels ? labelScores : quantityExplanations[quantity], ...more].join("");
  },

  profileExplanation(kind: AttentionKind, basis: Basis): string {
    const bars = "每根柱是矩阵一条对角线的平均；浅色的只基于一两个词对。";
    const nothing =
      kind === "cross"
        ? "两个句子没有共同的尺子，所以模型在这里不为距离加任何东西。"
        : "模型在这里不为距离加任何东西。";
    const line = {
      distance: "线是距离本身对得分的贡献，对所有在看的词元取平均；色带是其离散程度。",
      labels:
        "线是标签对得分的贡献，对同一条对角线上的词对取平均；色带是其离散程度。距离本身不加任何东西。",
      nothing,
    }[basis];
    return `${bars}${line}`;
  },

  profileHeadline(kind: AttentionKind, rows: readonly DistanceRow[]): string {
    const top = strongest(rows);
    const share = `${top.count} 个词对平均 ${number(top.meanWeight, 2)}`;
    if (top.distance === 0) return `在${kind === "cross" ? "相同" : "自己的"}位置最强：${share}`;
    const side = top.distance < 0 ? "向左" : "向右";
    return `${side} ${Math.abs(top.distance)} 位最强：${share}`;
  },

  noRelation: {
    cross: "两个不同的句子之间没有关系项",
    none: "这个模型在这里不为距离加任何东西",
  },

  rangeLabel({ from, to }: RelationRange, openStart: boolean, openEnd: boolean): string {
    if (openStart) return `\u2264${thinSpace}${distance(to)}`;
    if (openEnd) return `\u2265${thinSpace}${distance(from)}`;
    return `${distance(from)} 到 ${distance(to)}`;
  },

  relationNote(info: RelationInfo): string {
    const last = info.firstDistance + info.ids.length - 1;
    if (info.index === "clipped_distance") {
      return `模型认得 ${info.numRelations} 种距离，从 ${distance(info.firstDistance)} 到 ${distance(last)}；更远的都算最远。`;
    }
    if (info.index === "bucketed_distance") {
      return `模型把距离分进 ${info.numRelations} 个桶，近处细，远处粗。`;
    }
    if (info.effect === "fixed_slope")
      return "每个头从得分中减去固定斜率乘以距离，不含学到的东西。";
    if (info.index === "labels")
      return `模型认得词元之间的边的 ${info.numRelations} 种标签；两个词元相距多远不在其中。`;
    return "";
  },

  stats(translation: Translation, threads: number): string {
    const { status, tokens, ms } = translation;
    if (tokens === 0) return status === "stopped" ? "已停止" : "";
    const parts = [`${tokens} 个词元`];
    if (ms > 0) parts.push(`每秒 ${number((1000 * tokens) / ms, 0)} 个`);
    parts.push(`${threads} 个线程`);
    if (status === "stopped") parts.push("已停止");
    if (status === "done" && translation.finishReason === "length") parts.push("达到长度上限");
    return parts.join("，");
  },

  modelFacts(info: ModelInfo): string {
    return `${info.numEncoderLayers} + ${info.numDecoderLayers} 层，${info.numHeads} 个头，占内存 ${megabytes(info.weightBytes)}${thinSpace}MB`;
  },

  failureWords: chineseFailure,
};
