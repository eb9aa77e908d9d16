// The events of a session as they are in the log, one JSON object a line, in an output channel that follows them.

import { toJsonString } from "@bufbuild/protobuf";
import * as vscode from "vscode";
import { EventSchema } from "../../../web/src/generated/portico/v1/events_pb";
import { sessionTitle } from "../../../web/src/model/session-summary";
import { errorText } from "../server/connection";
import type { Services } from "../services";
import { registerSessionCommand } from "./registration";

/** Of a longer session, the last ones. */
const EVENTS = 5_000n;

export function eventLogCommand(services: Services): vscode.Disposable {
  const { connection, sessions } = services;
  let channel: vscode.OutputChannel | undefined;
  let reading = new AbortController();
  const command = registerSessionCommand("showEventLog", services, async (sessionId) => {
    reading.abort();
    reading = new AbortController();
    const { signal } = reading;
    const { session } = await connection.call((client) => client.getSession({ sessionId }));
    const lastSeq = session?.summary?.lastSeq ?? 0n;
    const afterSeq = lastSeq > EVENTS ? lastSeq - EVENTS : 0n;
    channel ??= vscode.window.createOutputChannel("Portico Events", "json");
    const shown = channel;
    const summary = sessions.all.value.get(sessionId) ?? session?.summary;
    shown.replace(`// ${summary === undefined ? "Session" : sessionTitle(summary)} (${sessionId})\n`);
    shown.show(true);
    const follow = connection.call(async (client) => {
      for await (const { update } of client.watch({ sessionId, afterSeq }, { signal }))
        if (update.case === "event") shown.appendLine(toJsonString(EventSchema, update.value));
    });
    void follow.catch((reason: unknown) => {
      if (!signal.aborted) shown.appendLine(`// ${errorText(reason)}`);
    });
  });
  return vscode.Disposable.from(command, {
    dispose: () => {
      reading.abort();
      channel?.dispose();
    },
  });
}
