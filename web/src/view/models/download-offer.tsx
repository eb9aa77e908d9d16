// Offer of a model that runs on this machine: what it is and can do, its download and the progress.

import { useLayoutEffect, useRef } from "preact/hooks";
import type { ModelDownload, PullModelResponse } from "../../generated/portico/v1/agent_pb";
import type { ModelConnector } from "./model-connector";

const MIB = 1024 * 1024;

interface DownloadOfferProps {
  readonly download: ModelDownload;
  readonly connecting: ModelConnector;
  readonly takesFocus: boolean;
}

export function DownloadOffer({ download, connecting, takesFocus }: DownloadOfferProps) {
  const { title, size, license, abilities, origin } = download;
  const isBusy = connecting.stage.value.state === "busy";
  const progress = connecting.progress.value;
  const button = useRef<HTMLButtonElement>(null);
  const waits = useRef(takesFocus);
  useLayoutEffect(() => {
    if (isBusy || !waits.current) return;
    waits.current = false;
    button.current?.focus();
  }, [isBusy]);
  return (
    <section class="p-download" aria-label={title}>
      <p>
        <strong>{title}</strong> runs on this machine, without a key and without a network. {abilities}
      </p>
      <p class="p-soft">{`${sizeText(size)}, licence ${license}. ${origin}.`}</p>
      {progress === undefined ? (
        <div class="p-card-actions">
          <button
            ref={button}
            type="button"
            class="p-button p-button-main"
            disabled={isBusy}
            onClick={() => void connecting.pull(download)}
          >
            {`Download ${sizeText(size)}`}
          </button>
        </div>
      ) : (
        <DownloadProgress title={title} progress={progress} />
      )}
    </section>
  );
}

function DownloadProgress({
  title,
  progress,
}: {
  readonly title: string;
  readonly progress: PullModelResponse;
}) {
  return (
    <>
      <progress
        class="p-download-bar"
        aria-label={`Download of ${title}`}
        value={Number(progress.done)}
        max={Number(progress.total)}
      />
      <p class="p-soft">{progressText(progress)} Closing this dialog pauses the download.</p>
    </>
  );
}

export function progressText({ done, total, secondsLeft, checking }: PullModelResponse): string {
  if (checking) return "Verifying the checksum…";
  const left = secondsLeft === undefined ? "" : `, ${timeText(secondsLeft)} left`;
  return `${sizeText(done)} of ${sizeText(total)}${left}.`;
}

function sizeText(size: bigint): string {
  return `${Math.round(Number(size) / MIB).toLocaleString("en")} MiB`;
}

function timeText(seconds: number): string {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
