// From a backend's steps to what a call gives.

import { RelataError } from "./errors.js";
import type { Backend, CallContext, Calls, Generated } from "./protocol.js";
import type { RunResult, Step } from "./types.js";

type Steps<Result> = AsyncGenerator<Step, Result, undefined>;

export async function* allResults(
  backend: Backend,
  args: Calls["generate"],
  context: CallContext,
): Steps<readonly RunResult[]> {
  const results = yield* backend.call("generate", args, context);
  return results.map((result) => ({ ...result, error: errorOf(result) }));
}

export async function* onlyResult(
  backend: Backend,
  args: Calls["generate"],
  context: CallContext,
): Steps<RunResult> {
  const [result] = yield* allResults(backend, args, context);
  if (result === undefined)
    throw new RelataError("internal", "generate", "generate: there is no result");
  if (result.error !== null) throw result.error;
  return result;
}

function errorOf({ error }: Generated): RelataError | null {
  return error && new RelataError(error.code, error.where, error.message);
}

export async function resultOf<Result>(
  steps: AsyncGenerator<Step, Result, undefined>,
): Promise<Result> {
  for (;;) {
    const { done, value } = await steps.next();
    if (done) return value;
  }
}
