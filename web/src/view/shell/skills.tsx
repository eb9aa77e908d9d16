// List of Agent Skills: where each is from, and whether agents may use it.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import { SkillState, type Skill } from "../../generated/portico/v1/agent_pb";
import { withVisibleControls } from "../../markdown/direction-controls";
import { failureOf } from "../../model/call-failure";
import { FormProblem } from "../form";

const SHORT = 12;

export function Skills({ gateway, workspace }: { gateway: Gateway; workspace: string }) {
  const skills = useSignal<readonly Skill[] | undefined>(undefined);
  const problem = useSignal("");
  const attempt = async (call: () => Promise<{ skills: readonly Skill[] }>): Promise<void> => {
    try {
      skills.value = (await call()).skills;
      problem.value = "";
    } catch (reason) {
      problem.value = failureOf(reason).message;
    }
  };
  const list = (): Promise<void> => attempt(() => gateway.client.listSkills({ workspace }));
  const decide = ({ skillId, fingerprint }: Skill, allow: boolean): Promise<void> =>
    attempt(() => gateway.client.decideSkill({ workspace, skillId, allow, fingerprint }));
  useEffect(() => void list(), [gateway, workspace]);
  return (
    <>
      <FormProblem text={problem.value} />
      {skills.value?.length === 0 && (
        <p class="p-soft">None. Add one as NAME/SKILL.md to .agents/skills of the folder.</p>
      )}
      <ul class="p-approvals">
        {skills.value?.map((one) => (
          <Entry key={one.skillId} skill={one} decide={(allow) => void decide(one, allow)} />
        ))}
      </ul>
    </>
  );
}

function Entry({ skill, decide }: { skill: Skill; decide: (allow: boolean) => void }) {
  const { name, source, description, fingerprint, problem, state } = skill;
  const about = state === SkillState.BROKEN ? problem : description;
  const canAllow = state !== SkillState.ON && state !== SkillState.BROKEN;
  return (
    <li>
      <span class="p-approval-words">
        <strong>{withVisibleControls(name)}</strong> <span>{stateLabel(state)}</span>
        <span class="p-soft">
          {" "}
          · {withVisibleControls(source)}
          {fingerprint !== "" && (
            <>
              {" "}
              · <code title={fingerprint}>{fingerprint.slice(0, SHORT)}</code>
            </>
          )}
        </span>
        <br />
        <span class="p-soft">{withVisibleControls(about)}</span>
      </span>
      <span class="p-skill-actions">
        {canAllow && (
          <button
            type="button"
            class="p-button"
            aria-label={`Allow ${skill.skillId}`}
            onClick={() => decide(true)}
          >
            Allow
          </button>
        )}
        {state !== SkillState.DENIED && (
          <button
            type="button"
            class="p-button"
            aria-label={`Deny ${skill.skillId}`}
            onClick={() => decide(false)}
          >
            Deny
          </button>
        )}
      </span>
    </li>
  );
}

function stateLabel(state: SkillState): string {
  switch (state) {
    case SkillState.ON:
      return "on";
    case SkillState.NOT_ALLOWED:
      return "not allowed";
    case SkillState.CHANGED:
      return "changed since it was allowed";
    case SkillState.DENIED:
      return "denied";
    default:
      return "broken";
  }
}
