// Shared elements: icons, icon buttons, copy buttons, Markdown, code.

import { useEffect, useState } from "preact/hooks";
import { browserEnvironment } from "../../gateway/environment";
import { Prose } from "../../markdown/prose";
import type { RowContext } from "./row-context";

const SAID_MS = 1_500;

export function Icon({ name, spinning = false }: { readonly name: string; readonly spinning?: boolean }) {
  return <i class={`codicon codicon-${name}${spinning ? " p-spinning" : ""}`} aria-hidden="true" />;
}

interface IconButtonProps {
  readonly icon: string;
  readonly label: string;
  readonly pressed?: boolean | undefined;
  /** Whether what the button opens is open. */
  readonly expanded?: boolean | undefined;
  readonly disabled?: boolean;
  readonly className?: string;
  readonly act: () => void;
}

export function IconButton({ icon, label, pressed, expanded, disabled, className, act }: IconButtonProps) {
  return (
    <button
      type="button"
      class={className === undefined ? "p-icon-button" : `p-icon-button ${className}`}
      title={label}
      aria-label={label}
      aria-pressed={pressed}
      aria-expanded={expanded}
      disabled={disabled}
      onClick={act}
    >
      <Icon name={icon} />
    </button>
  );
}

/** Copies, and for a moment says so. */
export function useCopy(): { readonly said: string; readonly copy: (text: string) => void } {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (said === "") return undefined;
    const timer = setTimeout(() => setSaid(""), SAID_MS);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = (text: string): void => {
    navigator.clipboard.writeText(text).then(
      () => setSaid("Copied"),
      () => setSaid("Could not copy"),
    );
  };
  return { said, copy };
}

export function CopyIcon({ label, text }: { readonly label: string; readonly text: () => string }) {
  const { said, copy } = useCopy();
  return (
    <>
      <IconButton
        icon={said === "Copied" ? "check" : "copy"}
        label={said || label}
        act={() => copy(text())}
      />
      <span class="p-aloud" role="status">
        {said}
      </span>
    </>
  );
}

const inFrame = (act: () => void): (() => void) => browserEnvironment.frame(act);

export function Markdown({ text, open, context }: { text: string; open: boolean; context: RowContext }) {
  const { gateway, workspace } = context;
  const { openFile } = gateway;
  return (
    <Prose
      text={text}
      open={open}
      onLink={(url) => gateway.openLink(url)}
      onFile={openFile && ((path, line) => openFile(path, line, workspace))}
      inFrame={inFrame}
    />
  );
}

/** Code in the frame that answers have, whatever backticks are in it. */
export function Code({ text, language, context }: { text: string; language: string; context: RowContext }) {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return <Markdown text={`${fence}${language}\n${text}\n${fence}`} open={false} context={context} />;
}
