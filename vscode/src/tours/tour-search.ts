// Search for the tours of a session in its log.

import { readTour, type Tour } from "../../../web/src/model/tour";
import type { ServerConnection } from "../server/connection";

/** As far back as the tours of a session are looked for. */
const PAGES = 20;
const PAGE = 500;

/** The tour of a tool call, or the last one of the session; undefined if there is none. */
export async function findTour(
  connection: ServerConnection,
  sessionId: string,
  toolId: string | undefined,
): Promise<Tour | undefined> {
  let beforeSeq = 0n;
  for (let page = 0; page < PAGES; page++) {
    const asked = { sessionId, beforeSeq, limit: PAGE };
    const { events, more } = await connection.call((client) => client.getTimeline(asked));
    for (const { payload } of events.toReversed()) {
      if (payload.case !== "toolCompleted" && payload.case !== "toolStarted") continue;
      if (toolId !== undefined && payload.value.toolId !== toolId) continue;
      const tour = readTour(payload.value.outputJson);
      if (tour !== undefined) return tour;
    }
    if (!more) break;
    beforeSeq = events[0]?.seq ?? 0n;
  }
  return undefined;
}
