// Decisions on permission requests over all sessions: who, what, when and by which rule, with export.

import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import type { RecordedDecision } from "../../generated/portico/v1/agent_pb";
import { DecisionList, decisionsAsCsv, decisionTime, type DecisionRow } from "../../model/decision-list";
import { decisionLabel, shortTitle } from "../cards/permission-labels";
import { FormProblem } from "../form";
import { sessionTitle } from "../../model/session-summary";

export function Decisions({ gateway, folder }: { readonly gateway: Gateway; readonly folder: string }) {
  const list = useMemo(() => new DecisionList(gateway, describe), [gateway]);
  const part = useRef<HTMLDivElement>(null);
  useEffect(() => {
    void list.load();
    // It takes the place of the settings, whose button had the focus.
    part.current?.focus();
  }, [list]);
  const rows = list.rows.value;
  const save = async (): Promise<void> => {
    await list.loadAll();
    gateway.save("portico-decisions.csv", decisionsAsCsv(list.rows.peek()), folder);
  };
  return (
    <div ref={part} tabIndex={-1}>
      <FormProblem text={list.problem.value} />
      {rows.length === 0 && !list.more.value && <p class="p-soft">Nothing has been decided yet.</p>}
      {rows.length > 0 && (
        <table class="p-keys p-decisions">
          <thead>
            <tr>
              <th scope="col">When, session</th>
              <th scope="col">Request</th>
              <th scope="col">Decision</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.key}>
                <td>
                  {row.at.toLocaleString()}
                  <br />
                  <span class="p-soft">{`${row.session}, ${row.agent}`}</span>
                </td>
                <td>{row.request}</td>
                <td>
                  {row.decision} <span class="p-soft">{row.by}</span>{" "}
                  {row.rule !== "" && <code class="p-rule">{row.rule}</code>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <div class="p-card-actions">
        {list.more.value && rows.length > 0 && (
          <button type="button" class="p-button" onClick={() => void list.load()}>
            Show more
          </button>
        )}
        <button type="button" class="p-button" disabled={rows.length === 0} onClick={() => void save()}>
          Export as CSV
        </button>
      </div>
    </div>
  );
}

/** A decision as a row; a rule that was kept is named, and so is one that decided. */
export function describe(decision: RecordedDecision): DecisionRow {
  const { sessionId, sessionTitle: title, agent, workspace, seq, request, resolved } = decision;
  const label =
    request === undefined || resolved === undefined
      ? { outcome: "", by: "" }
      : decisionLabel(request, { ...resolved, rule: "" });
  return {
    key: `${sessionId} ${seq}`,
    at: decisionTime(decision),
    session: sessionTitle({ title }),
    agent,
    folder: workspace,
    request: shortTitle(request?.title ?? "", workspace),
    decision: label.outcome,
    by: label.by,
    rule: resolved?.rule ?? "",
  };
}
