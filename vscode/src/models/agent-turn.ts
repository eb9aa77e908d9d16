// Sessions and turns of an agent outside of the chat page.

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CancellationToken } from "vscode";
import type { InvokeRequestSchema } from "../../../web/src/generated/portico/v1/agent_pb";
import { TurnState, type Event } from "../../../web/src/generated/portico/v1/events_pb";
import type { ServerConnection } from "../server/connection";

export interface TurnListener {
  readonly text: (words: string) => void;
  readonly thinking: (words: string) => void;
  /** The agent does something, or waits for an answer. */
  readonly step: (words: string) => void;
}

type Prompt = MessageInitShape<typeof InvokeRequestSchema> & { readonly sessionId: string };

export async function startAgentSession(
  connection: ServerConnection,
  agent: string,
  workspace: string,
): Promise<string> {
  const { session } = await connection.call((client) => client.startSession({ agent, workspace }));
  return session?.summary?.sessionId ?? "";
}

/** The session that is named, unless it was removed since. */
export async function existingSession(
  connection: ServerConnection,
  sessionId: unknown,
): Promise<string | undefined> {
  if (typeof sessionId !== "string") return undefined;
  try {
    await connection.call((client) => client.getSession({ sessionId }));
    return sessionId;
  } catch {
    return undefined;
  }
}

/** Ends with the turn. A token that is cancelled stops it. Rejects if it fails, with the words of the server. */
export async function runTurn(
  connection: ServerConnection,
  prompt: Prompt,
  token: CancellationToken,
  told: TurnListener,
): Promise<void> {
  const { sessionId } = prompt;
  const stop = (): void =>
    void connection.call((client) => client.stopTurn({ sessionId })).catch(() => undefined);
  const cancelling = token.onCancellationRequested(stop);
  let problem = "";
  try {
    await connection.call(async (client) => {
      for await (const { update } of client.invoke(prompt)) {
        if (update.case !== "event") continue;
        // Cancelled before there was a turn to stop.
        if (token.isCancellationRequested && update.value.payload.case === "promptSubmitted") stop();
        problem = reportEvent(update.value, told) ?? problem;
      }
    });
  } finally {
    cancelling.dispose();
  }
  if (problem !== "") throw new Error(problem);
}

/** The error of the turn, once it is known. */
function reportEvent({ payload }: Event, told: TurnListener): string | undefined {
  switch (payload.case) {
    case "textDelta":
      told.text(payload.value.text);
      break;
    case "thinking":
      told.thinking(payload.value.text);
      break;
    case "toolStarted":
      told.step(payload.value.title);
      break;
    case "permissionRequested":
      told.step(`Waiting for your answer in Portico: ${payload.value.title}`);
      break;
    case "questionAsked":
      told.step(`Waiting for your answer in Portico: ${payload.value.message}`);
      break;
    case "error":
      return [payload.value.message, payload.value.details?.suggestion].filter(Boolean).join(" ");
    case "turnEnded":
      return payload.value.state === TurnState.FAILED ? undefined : "";
    default:
  }
  return undefined;
}
