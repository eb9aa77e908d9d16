// Banner about the connection to the server. Short interruptions are not shown.

import { useEffect, useState } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import type { Connection, SessionModel } from "../../model/types";
import type { AppModel } from "./app-model";

/** Shorter interruptions are not shown. */
const PATIENCE_MS = 1_000;

export function ConnectionBanner({ app, session }: { app: AppModel; session: SessionModel | undefined }) {
  const connection = session?.connection.value ?? app.sessions.connection.value;
  const away = connection.state === "reconnecting" || connection.state === "connecting";
  const met = app.info.value !== undefined;
  const late = useLate(away);
  const unsent = session !== undefined && session.draft.value.trim() !== "";
  useEffect(() => {
    if (connection.state === "outdated" && !unsent) reloadOnce(app.gateway);
  }, [app, connection.state, unsent]);
  const tryNow = (): void => {
    session?.pause();
    session?.wake();
  };
  switch (connection.state) {
    case "live":
      return null;
    case "connecting":
    case "reconnecting":
      if (!late) return null;
      return (
        <div class="p-banner" role="status">
          <i class="codicon codicon-sync p-spinning" aria-hidden="true" />
          <span>{met ? <Absence connection={connection} /> : <NotYet gateway={app.gateway} />}</span>
          {session !== undefined && (
            <button type="button" class="p-link-button" onClick={tryNow}>
              Try now
            </button>
          )}
        </div>
      );
    case "outdated":
      return <OutdatedBanner gateway={app.gateway} />;
    case "signed_out":
      return (
        <div class="p-banner p-banner-bad" role="alert">
          <i class="codicon codicon-lock" aria-hidden="true" />
          <span>
            This page is not signed in. To sign in, run <code>portico serve --open</code>, or{" "}
            <code>portico pair</code> for another device.
          </span>
        </div>
      );
  }
}

function Absence({ connection }: { connection: Connection }) {
  return (
    <>
      {connection.state === "connecting" ? "Connecting…" : "Reconnecting…"}{" "}
      <span class="p-soft">What you type is kept.</span>
    </>
  );
}

/** An editor starts the server for its page, and tells in its own way if it cannot; elsewhere the page came from it. */
function NotYet({ gateway }: { gateway: Gateway }) {
  if (gateway.editorContext === undefined) return <>Connecting…</>;
  return (
    <>
      Portico is starting. <span class="p-soft">If it fails, a notification says why.</span>
    </>
  );
}

/** A page that came from the server is loaded from it again; one that came with an editor is not. */
function OutdatedBanner({ gateway }: { gateway: Gateway }) {
  const { updateBuilds } = gateway;
  return (
    <div class="p-banner" role="status">
      <i class="codicon codicon-info" aria-hidden="true" />
      <span>
        {updateBuilds === undefined
          ? "Portico was updated. Reload to get the new version of this page."
          : "The server and this extension are different builds."}
      </span>
      <button type="button" class="p-link-button" onClick={updateBuilds ?? (() => gateway.reload())}>
        {updateBuilds === undefined ? "Reload" : "Update…"}
      </button>
    </div>
  );
}

/** A page that is as old as before after it was loaded again does not go round in circles. */
function reloadOnce(gateway: Gateway): void {
  const { memory, pageBuild } = gateway;
  if (gateway.updateBuilds !== undefined || memory.get("reloaded") === pageBuild) return;
  memory.set("reloaded", pageBuild);
  gateway.reload();
}

function useLate(away: boolean): boolean {
  const [late, setLate] = useState(false);
  useEffect(() => {
    if (!away) {
      setLate(false);
      return undefined;
    }
    const timer = setTimeout(() => setLate(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [away]);
  return late;
}
