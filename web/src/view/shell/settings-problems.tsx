// Problems in the settings of a folder.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import { failureOf, isLost } from "../../model/call-failure";

interface ProblemsProps {
  readonly gateway: Gateway;
  readonly workspace: string;
}

export function SettingsProblems({ gateway, workspace }: ProblemsProps) {
  const problems = useSignal<readonly string[]>([]);
  useEffect(() => {
    let current = true;
    void findProblems(gateway, workspace).then((found) => {
      if (current) problems.value = found;
    });
    return () => {
      current = false;
    };
  }, [gateway, workspace]);
  if (problems.value.length === 0) return null;
  return (
    <div class="p-notice p-notice-warning p-settings-problems" role="status">
      {problems.value.map((problem) => (
        <p key={problem} class="p-line">
          <i class="codicon codicon-warning" aria-hidden="true" />
          <span>{problem}</span>
        </p>
      ))}
    </div>
  );
}

/** Sentences that name the file. Settings of the person's own that cannot be read are a problem too. */
export async function findProblems(gateway: Gateway, workspace: string): Promise<readonly string[]> {
  try {
    return (await gateway.client.getSettings({ workspace })).problems;
  } catch (reason) {
    // The page shows elsewhere that the server is away.
    if (isLost(reason)) return [];
    const { message, suggestion } = failureOf(reason);
    return [`${message} ${suggestion}`.trim()];
  }
}
