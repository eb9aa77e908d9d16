// Loads the dialog that connects a model, which the first paint does not need.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ConnectDialog, ConnectDialogProps } from "./connect-dialog";

/** Closes again if it cannot be loaded: the server is away then, which the page tells by itself. */
export function ConnectLoader(props: ConnectDialogProps) {
  const loaded = useSignal<typeof ConnectDialog | undefined>(undefined);
  const { onLeave } = props;
  useEffect(() => {
    void import("./connect-dialog").then((module) => (loaded.value = module.ConnectDialog), onLeave);
  }, [loaded]);
  const Loaded = loaded.value;
  return Loaded === undefined ? null : <Loaded {...props} />;
}
