// List of permanent permission grants, with revoke.

import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import type { Approval } from "../../generated/portico/v1/agent_pb";
import { failureOf } from "../../model/call-failure";
import { FormProblem } from "../form";

export function Approvals({ gateway, workspace }: { gateway: Gateway; workspace: string }) {
  const approvals = useSignal<readonly Approval[] | undefined>(undefined);
  const problem = useSignal("");
  const attempt = async (act: () => Promise<void>): Promise<void> => {
    try {
      await act();
      problem.value = "";
    } catch (reason) {
      problem.value = failureOf(reason).message;
    }
  };
  const load = async (): Promise<void> => {
    approvals.value = (await gateway.client.listApprovals({})).approvals;
  };
  const revoke = async (approvalId: string): Promise<void> => {
    await gateway.client.revokeApproval({ approvalId });
    await load();
  };
  useEffect(() => void attempt(load), [gateway]);
  return (
    <>
      <FormProblem text={problem.value} />
      {approvals.value?.length === 0 && <p class="p-soft">None. You are asked each time.</p>}
      <ul class="p-approvals">
        {approvals.value?.map((one) => (
          <li key={one.approvalId}>
            <span
              class="p-approval-words"
              title={one.givenAt && `since ${timestampDate(one.givenAt).toLocaleString()}`}
            >
              <code class="p-rule">{one.rule}</code>
              <span class="p-soft"> {whereWords(one, workspace)}</span>
            </span>
            <button
              type="button"
              class="p-button"
              aria-label={`Revoke ${one.rule}`}
              onClick={() => void attempt(() => revoke(one.approvalId))}
            >
              Revoke
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

function whereWords({ agent, workspace }: Approval, here: string): string {
  const who = agent === "" ? "any agent" : agent;
  if (workspace === "") return `${who}, everywhere`;
  return workspace === here ? `${who}, in this folder` : `${who}, in ${workspace}`;
}
