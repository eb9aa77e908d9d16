// Button that opens the dialog for a run of a prompt file. Both are loaded after the first paint.

import { useComputed, useSignal } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import type { SessionModel } from "../../model/types";
import { IconButton } from "../timeline/elements";
import { RunDialog } from "./run-dialog";

export interface RunButtonProps {
  readonly session: SessionModel;
  readonly gateway: Gateway;
}

export function RunButton({ session, gateway }: RunButtonProps) {
  const open = useSignal(false);
  const isKnown = useComputed(() => session.detail.value !== undefined);
  if (!isKnown.value) return null;
  return (
    <>
      <IconButton icon="play-circle" label="Run a prompt on a file" act={() => (open.value = true)} />
      {open.value && <RunDialog session={session} gateway={gateway} onLeave={() => (open.value = false)} />}
    </>
  );
}
