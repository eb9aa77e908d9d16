// One run of a prompt at the server.

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CancellationToken } from "vscode";
import type { PromptRunResult, RunPromptRequestSchema } from "../../../web/src/generated/portico/v1/agent_pb";
import type { ServerConnection } from "../server/connection";

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

/** The line that marks half an answer in an editor; empty for a whole one. */
export function incompleteMark(result: Pick<PromptRunResult, "complete" | "finishReason">): string {
  if (result.complete) return "";
  const why = result.finishReason === "cancelled" ? "the run was cancelled" : "the run ended early";
  return `\n\n[Incomplete: ${why}.]\n`;
}

/** Line about a failure in the output channel, with the ids of the server's log. */
export function failureLog(name: string, { error, traceId, sessionId }: PromptRunResult): string {
  return `prompt ${name}: ${error} (trace ${traceId}, session ${sessionId})`;
}
