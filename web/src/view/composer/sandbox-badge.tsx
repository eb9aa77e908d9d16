// Badge that shows how far the kernel confines the agent.

import type { SandboxInForce } from "../../generated/portico/v1/events_pb";
import type { SessionModel } from "../../model/types";

const PROMISES: Readonly<Record<string, string>> = {
  workspace: "The agent cannot write outside its folder or read your secrets.",
  strict: "The agent cannot write outside its folder, read your secrets or reach hosts that are not listed.",
};

export function SandboxBadge({ session }: { readonly session: SessionModel }) {
  const sandbox = session.detail.value?.summary?.sandbox;
  if (sandbox === undefined) return null;
  const isConfined = sandbox.level !== "none";
  const words = isConfined ? "Sandbox" : "No sandbox";
  return (
    <span
      class={`p-sandbox${isConfined ? "" : " p-sandbox-missing"}`}
      role="img"
      aria-label={`${words}. ${explained(sandbox)}`}
      title={explained(sandbox)}
    >
      <i class={`codicon codicon-${isConfined ? "shield" : "warning"}`} aria-hidden="true" />
      {!isConfined && <span class="p-quiet-text">{words}</span>}
    </span>
  );
}

function explained({ level, backend, note }: SandboxInForce): string {
  const promise = PROMISES[level];
  if (promise === undefined) return note;
  return `Sandbox: ${level}, by ${backend}. ${note === "" ? promise : note}`;
}
