// Branch or worktree of a session, with the menu that finishes it.

import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import { ReviewEnding, ReviewMode } from "../../generated/portico/v1/agent_pb";
import { reviewOf } from "../../model/review";
import type { ReviewStatus } from "../../model/review-status";
import type { SessionModel } from "../../model/types";
import { isActive } from "../cards/card";
import { indexAfterKey } from "../composer/list-navigation";
import { Icon } from "../timeline/elements";

interface Ending {
  readonly ending: ReviewEnding;
  readonly icon: string;
  readonly name: string;
  readonly description: (home: string) => string;
  readonly done: (home: string, reference: string) => string;
}

const ENDINGS: readonly Ending[] = [
  {
    ending: ReviewEnding.MERGE,
    icon: "git-merge",
    name: "Merge",
    description: (home) => `Merge all commits into ${home}`,
    done: (home) => `Merged into ${home}.`,
  },
  {
    ending: ReviewEnding.SQUASH,
    icon: "git-commit",
    name: "Squash",
    description: (home) => `Combine all changes into one commit on ${home}`,
    done: (home) => `Squashed into one commit on ${home}.`,
  },
  {
    ending: ReviewEnding.KEEP,
    icon: "git-branch",
    name: "Keep",
    description: (home) => `Keep the branch and switch back to ${home}`,
    done: (_, reference) => `Kept as ${reference}.`,
  },
  {
    ending: ReviewEnding.DISCARD,
    icon: "trash",
    name: "Discard",
    description: (home) => `Switch back to ${home} without the changes; a ref keeps them`,
    done: (_, reference) =>
      reference === "" ? "Discarded." : `Discarded. ${reference} still has the changes.`,
  },
];

export function BranchBar({
  session,
  gateway,
}: {
  readonly session: SessionModel;
  readonly gateway: Gateway;
}) {
  const { status } = reviewOf(session, gateway);
  const mode = status.mode.value;
  const told = status.latest.value;
  const works = mode === ReviewMode.BRANCH || mode === ReviewMode.WORKTREE;
  if (told === undefined || !works || !told.unfinished) {
    return status.ended.value === "" ? null : <Ended status={status} />;
  }
  const { branch, homeBranch, folder } = told;
  const home = homeBranch === "" ? "your branch" : homeBranch;
  return (
    <div class="p-pending p-branch-bar" role="group" aria-label="Branch of this session">
      <Icon name={mode === ReviewMode.WORKTREE ? "worktree" : "git-branch"} />
      <span class={branch === "" ? "p-pending-words" : "p-branch"} title={folder}>
        {branch === "" ? "In its own worktree" : branch}
      </span>
      {homeBranch !== "" && <span class="p-branch-home p-soft">from {homeBranch}</span>}
      <FinishMenu status={status} home={home} isIdle={!isActive(session.state.value)} />
    </div>
  );
}

function Ended({ status }: { readonly status: ReviewStatus }) {
  return (
    <div class="p-pending p-branch-bar" role="status">
      <Icon name="check" />
      <span class="p-pending-words">{status.ended.value}</span>
      <button type="button" class="p-link-button" onClick={() => (status.ended.value = "")}>
        Dismiss
      </button>
    </div>
  );
}

interface FinishMenuProps {
  readonly status: ReviewStatus;
  readonly home: string;
  readonly isIdle: boolean;
}

function FinishMenu({ status, home, isIdle }: FinishMenuProps) {
  const open = useSignal(false);
  const button = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const close = (): void => {
    open.value = false;
    button.current?.focus();
  };
  useLayoutEffect(() => {
    if (open.value) menu.current?.querySelector("button")?.focus();
  }, [open.value]);
  const finish = ({ ending, done }: Ending): void => {
    close();
    void status.finish(ending, (reference) => done(home, reference));
  };
  return (
    <span
      class="p-finish"
      onFocusOut={({ relatedTarget, currentTarget }) => {
        if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) open.value = false;
      }}
    >
      <button
        ref={button}
        type="button"
        class="p-button"
        aria-haspopup="menu"
        aria-expanded={open.value}
        disabled={status.busy.value || !isIdle}
        title={isIdle ? "Merge, squash, keep or discard the work" : "The agent is working"}
        onClick={() => (open.value = !open.peek())}
      >
        Finish branch…
        <Icon name="chevron-down" />
      </button>
      {open.value && (
        <div
          ref={menu}
          class="p-popup p-menu"
          role="menu"
          aria-label="Finish branch"
          onKeyDown={(event) => onMenuKey(event, menu.current, close)}
        >
          {ENDINGS.map((one) => (
            <button
              key={one.name}
              type="button"
              class="p-menu-item"
              role="menuitem"
              onClick={() => finish(one)}
            >
              <Icon name={one.icon} />
              <span class="p-choice-words">
                <span>{one.name}</span>
                <span class="p-choice-more">{one.description(home)}</span>
              </span>
            </button>
          ))}
        </div>
      )}
    </span>
  );
}

export function onMenuKey(event: KeyboardEvent, menu: HTMLElement | null, close: () => void): void {
  const items = [...(menu?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
  const at = items.findIndex((item) => item === document.activeElement);
  const next = indexAfterKey(event.key, items.length, at);
  if (event.key === "Escape") close();
  else if (next !== undefined) items[next]?.focus();
  else return;
  event.preventDefault();
  event.stopPropagation();
}
