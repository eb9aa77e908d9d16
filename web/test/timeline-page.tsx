// The page that timeline.chromium.test.ts reads: the real timeline over the real model, with a server in memory.

import { create } from "@bufbuild/protobuf";
import { signal } from "@preact/signals";
import { render } from "preact";
import type { Gateway } from "../src/gateway/gateway";
import { SessionDetailSchema } from "../src/generated/portico/v1/agent_pb";
import { ErrorCode, ToolKind, TurnState } from "../src/generated/portico/v1/events_pb";
import { applyEvent } from "../src/model/session-detail";
import { createSessionModel } from "../src/model/session";
import type { SessionModel } from "../src/model/types";
import { Timeline } from "../src/view/timeline/timeline";
import { Log, typicalLog } from "./events";
import { MemoryServer } from "./memory-server";

const PAGE_SIZE = 200;

export class TimelinePage {
  server = new MemoryServer();
  session: SessionModel | undefined;

  /** Shows a session whose log has so many events before it begins. */
  show(events: number): void {
    this.#show(events === 0 ? new Log().start() : typicalLog(events));
  }

  /** Shows a session with one answer of so many paragraphs, an event each. */
  showLongAnswer(paragraphs: number): void {
    const log = new Log().start().prompt("Tell me everything");
    for (let number = 0; number < paragraphs; number++) log.text(`Paragraph ${number} of many.\n\n`, "m");
    this.#show(log.end());
  }

  /** An answer that goes on, a paragraph in each frame. */
  async stream(paragraphs: number): Promise<void> {
    for (let number = 0; number < paragraphs; number++) {
      this.server.write((log) => log.text(`Streamed paragraph ${number}.\n\n`, "stream"));
      await frame();
    }
    await frames(4);
  }

  /** Three tool calls, of which the last prints the words. */
  useTools(words: string): void {
    this.server.write((log) => {
      for (const toolId of ["one", "two", "three"]) {
        log.add("toolStarted", { toolId, title: `Run ${toolId}`, toolKind: ToolKind.EXECUTE });
        // More than is read at a glance, so that each is closed at first.
        const text = `${toolId === "three" ? words : "ok"}\n`.repeat(20);
        log.add("toolUpdated", { toolId, terminal: { terminalId: toolId, text } });
        log.add("toolCompleted", { toolId, success: true, durationMs: 10n });
      }
    });
  }

  /** A turn that failed because its agent is not installed. */
  missAgent(agent: string, suggestion: string): void {
    this.server.write((log) => {
      log.prompt("Caulk the hull");
      const details = { agent, suggestion, recoverable: true };
      log.add("error", { code: ErrorCode.AGENT_NOT_FOUND, message: `No ${agent} here.`, details });
      log.end(TurnState.FAILED, "");
    });
  }

  /** How much there is below the screen; infinite while there is nothing at all. */
  get left(): number {
    const scroller = document.querySelector(".p-scroller");
    if (scroller === null || scroller.querySelector(".p-row") === null) return Infinity;
    return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
  }

  /** Where a row or a paragraph with these words stands on the screen; undefined if it is not on the page. */
  placeOf(words: string): number | undefined {
    const all = [...document.querySelectorAll(".p-rows p, .p-row-prompt")];
    return all.find((element) => element.textContent.startsWith(words))?.getBoundingClientRect().top;
  }

  #show(log: Log): void {
    this.server = new MemoryServer(log);
    const gateway = this.server.gateway();
    const told: Gateway = {
      ...gateway,
      client: {
        ...gateway.client,
        getSession: async (...call) => {
          const { session, ...rest } = await gateway.client.getSession(...call);
          let detail = session ?? create(SessionDetailSchema);
          for (const event of log.events) detail = applyEvent(detail, event);
          const summary = detail.summary && { ...detail.summary, workspace: "/w", agent: "porter" };
          return { ...rest, session: summary === undefined ? detail : { ...detail, summary } };
        },
      },
    };
    this.session = createSessionModel(told, "s1", { pageSize: PAGE_SIZE });
    render(
      <div style={{ display: "flex", height: "600px" }}>
        <Timeline session={this.session} gateway={told} agents={signal([])} onNewSession={() => undefined} />
      </div>,
      document.getElementById("root") ?? document.body,
    );
  }
}

export function frame(): Promise<void> {
  return new Promise((resolve) => requestAnimationFrame(() => resolve()));
}

async function frames(count: number): Promise<void> {
  for (let number = 0; number < count; number++) await frame();
}

declare global {
  interface Window {
    timeline: TimelinePage;
  }
}

window.timeline = new TimelinePage();
