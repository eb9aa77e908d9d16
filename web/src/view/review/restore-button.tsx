// Button on a prompt that restores the checkpoint before it.

import { useSignal } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import type { PromptItem, SessionModel } from "../../model/types";
import { IconButton } from "../timeline/elements";
import { lazy } from "../lazy";

const RestoreDialog = lazy(() => import("./restore-dialog").then((module) => module.RestoreDialog));

interface RestoreButtonProps {
  readonly item: PromptItem;
  readonly session: SessionModel;
  readonly gateway: Gateway;
}

export function RestoreButton({ item, session, gateway }: RestoreButtonProps) {
  const asking = useSignal(false);
  const { checkpoint } = item;
  if (checkpoint === undefined) return null;
  return (
    <>
      <IconButton icon="debug-restart" label="Restore to here" act={() => (asking.value = true)} />
      {asking.value && (
        <RestoreDialog
          session={session}
          gateway={gateway}
          checkpointId={checkpoint.checkpointId}
          label={item.text}
          leftOut={checkpoint.leftOut}
          onLeave={() => (asking.value = false)}
        />
      )}
    </>
  );
}
