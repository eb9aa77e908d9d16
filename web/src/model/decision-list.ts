// The decisions on permission requests over all sessions, page by page, and as a table for export.

import { timestampDate } from "@bufbuild/protobuf/wkt";
import { signal } from "@preact/signals";
import type { Gateway } from "../gateway/gateway";
import type { RecordedDecision } from "../generated/portico/v1/agent_pb";
import { failureOf } from "./call-failure";

/** A decision as a person reads it. */
export interface DecisionRow {
  readonly key: string;
  readonly at: Date;
  readonly session: string;
  readonly agent: string;
  readonly folder: string;
  readonly request: string;
  readonly decision: string;
  readonly by: string;
  readonly rule: string;
}

export type DescribeDecision = (decision: RecordedDecision) => DecisionRow;

export function decisionTime({ at }: RecordedDecision): Date {
  return at === undefined ? new Date(0) : timestampDate(at);
}

export class DecisionList {
  readonly rows = signal<readonly DecisionRow[]>([]);
  readonly more = signal(true);
  readonly problem = signal("");
  readonly #gateway: Gateway;
  readonly #describe: DescribeDecision;
  #after = "";
  #loading: Promise<void> | undefined;

  constructor(gateway: Gateway, describe: DescribeDecision) {
    this.#gateway = gateway;
    this.#describe = describe;
  }

  /** Loads one page more. Calls that overlap are one. */
  async load(): Promise<void> {
    this.#loading ??= this.#load().finally(() => (this.#loading = undefined));
    await this.#loading;
  }

  async loadAll(): Promise<void> {
    while (this.more.peek() && this.problem.peek() === "") await this.load();
  }

  async #load(): Promise<void> {
    try {
      const page = await this.#gateway.client.listDecisions({ afterSessionId: this.#after });
      this.rows.value = [...this.rows.peek(), ...page.decisions.map(this.#describe)];
      this.#after = page.nextAfterSessionId;
      this.more.value = this.#after !== "";
      this.problem.value = "";
    } catch (reason) {
      this.problem.value = failureOf(reason).message;
    }
  }
}

const COLUMNS = ["at", "session", "agent", "folder", "request", "decision", "by", "rule"] as const;

/** The rows as CSV. What a spreadsheet would take for a formula is quoted as text. */
export function decisionsAsCsv(rows: readonly DecisionRow[]): string {
  const lines = rows.map((row) =>
    COLUMNS.map((column) => csvField(column === "at" ? row.at.toISOString() : row[column])).join(","),
  );
  return [COLUMNS.join(","), ...lines].join("\r\n") + "\r\n";
}

function csvField(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
