// Costs of sessions as small bars, with Porter's budgets.

import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import { CostGrouping, type CostTotal, type GetCostsResponse } from "../../generated/portico/v1/agent_pb";
import { failureOf } from "../../model/call-failure";
import { FormProblem } from "../form";
import { Choices } from "./choices";
import { money, tokenCount } from "./money";

const DAY = 86_400_000;
const GROUPINGS = {
  day: "Day",
  agent: "Agent",
  model: "Model",
  folder: "Folder",
  session: "Session",
} as const;
type Grouping = keyof typeof GROUPINGS;
const KINDS: Readonly<Record<Grouping, CostGrouping>> = {
  day: CostGrouping.DAY,
  agent: CostGrouping.AGENT,
  model: CostGrouping.MODEL,
  folder: CostGrouping.FOLDER,
  session: CostGrouping.SESSION,
};
const PERIODS = { "7": "7 days", "30": "30 days", all: "All time" } as const;
type Period = keyof typeof PERIODS;

export interface Budgets {
  readonly turn?: number | undefined;
  readonly session?: number | undefined;
  readonly day?: number | undefined;
}

export function Costs({ gateway, workspace }: { gateway: Gateway; workspace: string }) {
  const by = useSignal<Grouping>("day");
  const period = useSignal<Period>("30");
  const found = useSignal<GetCostsResponse | undefined>(undefined);
  const budgets = useSignal<Budgets>({});
  const problem = useSignal("");
  useEffect(() => {
    let current = true;
    const days = period.value === "all" ? undefined : Number(period.value);
    const since = days === undefined ? {} : { since: timestampFromDate(new Date(Date.now() - days * DAY)) };
    Promise.all([
      gateway.client.getCosts({ by: KINDS[by.value], ...since }),
      gateway.client.getSettings({ workspace }),
    ]).then(
      ([costs, { settings }]) => {
        if (!current) return;
        found.value = costs;
        budgets.value = budgetsOf(settings);
        problem.value = "";
      },
      (reason: unknown) => {
        if (current) problem.value = failureOf(reason).message;
      },
    );
    return () => {
      current = false;
    };
  }, [gateway, workspace, by.value, period.value]);
  return (
    <>
      <div class="p-board-choices">
        <Choices
          label="Group by"
          value={by.value}
          choices={GROUPINGS}
          onChange={(one) => (by.value = one as Grouping)}
        />
        <Choices
          label="Period"
          value={period.value}
          choices={PERIODS}
          onChange={(one) => (period.value = one as Period)}
        />
      </div>
      <FormProblem text={problem.value} />
      {found.value !== undefined && <CostTable found={found.value} by={by.value} budgets={budgets.value} />}
      <p class="p-soft">{budgetWords(budgets.value)}</p>
    </>
  );
}

function CostTable({ found, by, budgets }: { found: GetCostsResponse; by: Grouping; budgets: Budgets }) {
  if (found.totals.length === 0)
    return <p class="p-soft">No costs or tokens were reported in this period.</p>;
  const most = Math.max(...found.totals.map(weight));
  const limit = by === "day" ? budgets.day : by === "session" ? budgets.session : undefined;
  return (
    <table class="p-costs">
      <tbody>
        {found.totals.map((one) => (
          <tr
            key={`${one.name} ${one.currency}`}
            class={limit !== undefined && (one.cost ?? 0) > limit ? "p-costs-over" : ""}
          >
            <th scope="row" title={one.title}>
              {nameOf(one, by)}
            </th>
            <td class="p-costs-bar" aria-hidden="true">
              <svg preserveAspectRatio="none" viewBox="0 0 100 1">
                <rect width={most === 0 ? 0 : (weight(one) / most) * 100} height="1" />
              </svg>
            </td>
            <td>{one.cost === undefined ? "no price" : money(one.cost, one.currency)}</td>
            <td class="p-costs-tokens p-soft">{tokens(one)}</td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        {found.whole.map((one) => (
          <tr key={one.currency}>
            <th scope="row" colSpan={2}>
              Total, {one.sessions === 1 ? "1 session" : `${one.sessions} sessions`}
            </th>
            <td>{one.cost === undefined ? "no price" : money(one.cost, one.currency)}</td>
            <td class="p-costs-tokens">{tokens(one)}</td>
          </tr>
        ))}
      </tfoot>
    </table>
  );
}

/** A bar shows the cost. Without a price there is no bar, since tokens have another scale. */
function weight({ cost = 0 }: CostTotal): number {
  return cost;
}

function tokens({ inputTokens, outputTokens }: CostTotal): string {
  const count = Number(inputTokens + outputTokens);
  return count === 0 ? "" : `${tokenCount(count)} tokens`;
}

function nameOf({ title }: CostTotal, by: Grouping): string {
  if (title !== "") return title;
  return by === "model" ? "Unknown model" : "New session";
}

export function budgetsOf(settings: readonly { name: string; valueJson: string }[]): Budgets {
  const read = (name: string): unknown => {
    const text = settings.find((one) => one.name === name)?.valueJson ?? "";
    return text === "" ? undefined : (JSON.parse(text) as unknown);
  };
  const turn = read("maxCostUsd");
  const others = read("budgets") as
    Partial<Record<"session" | "day", { dollars?: number | null }>> | undefined;
  return {
    turn: typeof turn === "number" ? turn : undefined,
    session: others?.session?.dollars ?? undefined,
    day: others?.day?.dollars ?? undefined,
  };
}

export function budgetWords({ turn, session, day }: Budgets): string {
  const named = [
    ["a turn", turn],
    ["a session", session],
    ["a day", day],
  ] as const;
  const found = named.flatMap(([name, limit]) =>
    limit === undefined ? [] : [`${money(limit, "USD")} ${name}`],
  );
  return found.length === 0 ? "" : `Porter's budgets: ${found.join(", ")}`;
}
