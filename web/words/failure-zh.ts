// 出了什么错，该怎么办。

import type { Failure } from "../state";

export function chineseFailure({ code, where }: Failure): string {
  const place = where === "" ? "" : `（${where}）`;
  switch (code) {
    case "file_missing":
      return `缺少模型的一个文件${place}。请检查服务器上的模型文件夹是否完整。`;
    case "file_damaged":
      return `模型的一个文件已损坏${place}。请重新载入页面，或重新放置该文件。`;
    case "config_invalid":
      return `模型的配置自相矛盾${place}。请重新获取模型。`;
    case "unsupported":
      return `不支持这种模型${place}。请换一个。`;
    case "tensor_missing":
    case "tensor_invalid":
      return `模型的权重与配置不符${place}。请重新获取模型。`;
    case "tokenizer_invalid":
      return `无法读取模型的分词器${place}。请重新获取模型。`;
    case "input_invalid":
      return `模型读不了这段文字${place}。请修改后重试。`;
    case "option_invalid":
      return `页面要求了模型做不到的事${place}。`;
    case "out_of_memory":
      return `内存不足${place}。请关闭其他标签页，或用短一些的文字。`;
    case "disposed":
      return "模型已被释放。请重新载入页面。";
    case "wasm_unavailable":
      return "这个浏览器不能运行带 SIMD 的 WebAssembly。新版 Chrome、Edge、Firefox 或 Safari 可以。";
    case "network":
      return `模型没有传到${place}。请检查网络后重试。`;
    case "internal":
    case "unknown":
      return `出了不该出的错${place}。请重新载入页面。`;
  }
}
