// One run of a prompt at the server.

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CancellationToken } from "vscode";
import type { PromptRunResult, RunPromptRequestSchema } from "../../../web/src/generated/portico/v1/agent_pb";
import type { ServerConnection } from "../server/connection";
import { dollars } from "./prompt-list";

export interface RunListener {
  /** The session of the run is known. */
  readonly started: (sessionId: string) => void;
  readonly text: (words: string) => void;
  /** The agent does something, or waits for an answer. */
  readonly step: (words: string) => void;
}

/** Ends with the run. A token that is cancelled stops it; the result has the answer so far. */
export async function runPrompt(
  connection: ServerConnection,
  request: MessageInitShape<typeof RunPromptRequestSchema>,
  token: CancellationToken,
  listener: RunListener,
): Promise<PromptRunResult> {
  let sessionId = "";
  const stop = (): void => {
    if (sessionId !== "")
      void connection.call((client) => client.stopTurn({ sessionId })).catch(() => undefined);
  };
  const cancelling = token.onCancellationRequested(stop);
  try {
    return await connection.call(async (client) => {
      for await (const { update } of client.runPrompt(request)) {
        if (update.case === "result") return update.value;
        if (update.case !== "event") continue;
        const { payload } = update.value;
        if (sessionId === "") {
          sessionId = update.value.sessionId;
          listener.started(sessionId);
          // Cancelled before there was a turn to stop.
          if (token.isCancellationRequested) stop();
        }
        if (payload.case === "textDelta") listener.text(payload.value.text);
        if (payload.case === "toolStarted") listener.step(payload.value.title);
        if (payload.case === "permissionRequested")
          listener.step(`Waiting for your answer: ${payload.value.title}`);
        if (payload.case === "questionAsked")
          listener.step(`Waiting for your answer: ${payload.value.message}`);
      }
      throw new Error("The server stopped before the run ended. The answer so far is in its session.");
    });
  } finally {
    cancelling.dispose();
  }
}

/** The line of the notification after a run. */
export function runSummary(name: string, result: PromptRunResult): string {
  const { complete, error, model, costUsd, durationMs, finishReason } = result;
  const outcome = complete ? "finished" : error !== "" ? "failed" : (endings[finishReason] ?? "ended early");
  const cost = costUsd === undefined ? "" : dollars(costUsd);
  const facts = [model, cost, `${(Number(durationMs) / 1000).toFixed(1)} s`].filter((fact) => fact !== "");
  const answer = complete || result.text.trim() === "" ? "" : " The answer is incomplete.";
  return `Portico: ${name} ${outcome} (${facts.join(", ")}).${error === "" ? "" : ` ${error}`}${answer}`;
}

const endings: Readonly<Record<string, string | undefined>> = {
  cancelled: "was cancelled",
  max_tokens: "reached the token limit of the model",
  refusal: "was refused by the model",
};

/** The line that marks half an answer in an editor; empty for a whole one. */
export function incompleteMark(result: Pick<PromptRunResult, "complete" | "finishReason">): string {
  if (result.complete) return "";
  const why = result.finishReason === "cancelled" ? "the run was cancelled" : "the run ended early";
  return `\n\n[Incomplete: ${why}.]\n`;
}

/** What the output channel keeps of a failure, to be found in the server's log. */
export function failureLog(name: string, { error, traceId, sessionId }: PromptRunResult): string {
  return `prompt ${name}: ${error} (trace ${traceId}, session ${sessionId})`;
}
