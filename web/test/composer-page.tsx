// The page that composer.chromium.test.ts types into: the real composer over the real model, with a server in memory.

import { create } from "@bufbuild/protobuf";
import { signal, type Signal } from "@preact/signals";
import { options, render } from "preact";
import type { EditorContext, Gateway } from "../src/gateway/gateway";
import { browserEnvironment } from "../src/gateway/environment";
import {
  AgentSchema,
  ListPromptsResponseSchema,
  ListSessionsResponseSchema,
  ReviewMode,
  SessionDetailSchema,
  SessionSummarySchema,
  type SessionDetail,
  type SessionSummary,
} from "../src/generated/portico/v1/agent_pb";
import { TurnState } from "../src/generated/portico/v1/events_pb";
import { applyEvent } from "../src/model/session-detail";
import { createSessionModel } from "../src/model/session";
import type { SessionModel } from "../src/model/types";
import type { NewSession } from "../src/view/cards";
import { Composer } from "../src/view/composer/composer";
import { MemoryServer } from "./memory-server";

const FILES = ["src/app.py", "README.md", "docs/a name with spaces.md"];

export class ComposerPage {
  readonly environment = browserEnvironment;
  readonly server = new MemoryServer();
  readonly context: Signal<EditorContext | undefined> = signal(undefined);
  /** The agents that a new session was begun with. */
  readonly begun: string[] = [];
  /** How the last of them was begun. */
  start: NewSession | undefined;
  readonly writer: Signal<SessionSummary | undefined> = signal(undefined);
  readonly prompts: { text: string; files: string[] }[] = [];
  readonly session: SessionModel;
  readonly #gateway: Gateway;
  #facts: Partial<SessionDetail> = {};

  constructor() {
    this.server.log
      .add("commandsUpdated", {
        commands: [
          { name: "explain", description: "Say what code does", hint: "a file" },
          { name: "fix", description: "Repair what is broken" },
        ],
      })
      .add("configUpdated", {
        options: [
          option("mode", "Mode", "mode", ["ask", "auto"]),
          option("model", "Model", "model", ["small", "big"]),
          option("thought", "Thinking", "thought_level", ["low", "high"]),
          { optionId: "web", name: "Web search", value: { case: "switchedOn", value: true } },
        ],
      })
      .add("usageUpdated", { used: 168_000n, size: 200_000n });
    const gateway = this.server.gateway();
    this.#gateway = {
      ...gateway,
      editorContext: this.context,
      client: {
        ...gateway.client,
        getSession: async (...call) => {
          const { session, ...rest } = await gateway.client.getSession(...call);
          return { ...rest, session: this.#detail(session ?? create(SessionDetailSchema)) };
        },
        submitPrompt: (request, ...options) => {
          const files = (request.attachments ?? []).map(({ name = "" }) => name);
          this.prompts.push({ text: request.text ?? "", files });
          return gateway.client.submitPrompt(request, ...options);
        },
        listSessions: () =>
          Promise.resolve(
            create(ListSessionsResponseSchema, { sessions: this.writer.value ? [this.writer.value] : [] }),
          ),
        listPrompts: () => Promise.resolve(create(ListPromptsResponseSchema)),
        findFiles: ({ query = "" }) =>
          Promise.resolve({
            $typeName: "portico.v1.FindFilesResponse",
            files: FILES.filter((path) => path.toLowerCase().includes(query.toLowerCase())).map((path) => ({
              $typeName: "portico.v1.FoundFile",
              path,
              matched: [],
            })),
          }),
      },
    };
    this.session = createSessionModel(this.#gateway, "s1");
  }

  get drawn(): number {
    return drawn;
  }

  show(): void {
    const agents = signal([
      create(AgentSchema, { name: "codex", title: "Codex", installHint: "npm install codex" }),
      create(AgentSchema, { name: "porter", title: "Porter", installed: true }),
      create(AgentSchema, { name: "claude", title: "Claude", installed: true }),
    ]);
    render(
      <Composer
        session={this.session}
        gateway={this.#gateway}
        agents={agents}
        writer={this.writer}
        onNewSession={(agent, start) => {
          this.begun.push(agent);
          this.start = start;
        }}
      />,
      document.getElementById("root") ?? document.body,
    );
  }

  /** Another session is at work in the folder, or none. */
  occupyFolder(occupied: boolean): void {
    const other = { sessionId: "s2", title: "Mend the door", state: TurnState.STREAMING };
    this.writer.value = occupied ? create(SessionSummarySchema, other) : undefined;
  }

  get startsInWorktree(): boolean {
    return this.start?.mode === ReviewMode.WORKTREE;
  }

  /** The server says these things about the session from now on. */
  know(facts: Partial<SessionDetail>): void {
    this.#facts = facts;
    this.session.pause();
    this.session.wake();
  }

  #detail(detail: SessionDetail): SessionDetail {
    let told = detail;
    for (const event of this.server.log.events) told = applyEvent(told, event);
    return {
      ...told,
      ...(detail.summary && { summary: { ...detail.summary, agent: "porter" } }),
      ...this.#facts,
    };
  }
}

function option(optionId: string, name: string, category: string, values: readonly string[]) {
  const choices = values.map((value) => ({ value, name: value }));
  return { optionId, name, category, choices, value: { case: "choice" as const, value: values[0] ?? "" } };
}

/** How many parts of the page have been drawn, whether or not that changed anything. */
let drawn = 0;
const before = options.diffed?.bind(options);
options.diffed = (node) => {
  drawn++;
  before?.(node);
};

declare global {
  interface Window {
    composer: ComposerPage;
  }
}

window.composer = new ComposerPage();
window.composer.show();
