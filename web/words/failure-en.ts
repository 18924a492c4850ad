// What went wrong and what to do.

import type { Failure } from "../state";

export function englishFailure({ code, where }: Failure): string {
  const place = where === "" ? "" : ` (${where})`;
  switch (code) {
    case "file_missing":
      return `A file of the model is not there${place}. Check that the whole model folder is on the server.`;
    case "file_damaged":
      return `A file of the model is damaged${place}. Reload the page, or put the file on the server again.`;
    case "config_invalid":
      return `The model\u2019s configuration does not make sense${place}. Get the model again.`;
    case "unsupported":
      return `This kind of model is not supported${place}. Pick another.`;
    case "tensor_missing":
    case "tensor_invalid":
      return `The model\u2019s weights do not fit its configuration${place}. Get the model again.`;
    case "tokenizer_invalid":
      return `The model\u2019s tokenizer cannot be read${place}. Get the model again.`;
    case "input_invalid":
      return `The model cannot read this text${place}. Change it and try again.`;
    case "option_invalid":
      return `The page asked for something the model does not do${place}.`;
    case "out_of_memory":
      return `There is not enough memory${place}. Close other tabs, or try a shorter text.`;
    case "disposed":
      return "The model was let go. Reload the page.";
    case "wasm_unavailable":
      return "This browser cannot run WebAssembly with SIMD. A current Chrome, Edge, Firefox or Safari can.";
    case "network":
      return `The model did not arrive${place}. Check the connection and try again.`;
    case "internal":
    case "unknown":
      return `Something went wrong that should not${place}. Reload the page.`;
  }
}
