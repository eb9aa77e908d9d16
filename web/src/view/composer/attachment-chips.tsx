// Attachments of the prompt: editor context, mentioned files, added files.

import { useComputed } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import type { SessionModel } from "../../model/types";
import { shortPath } from "../timeline/short-path";
import { formatSize, type Attachment } from "./attachments";
import type { Composition } from "./composition";
import { lineRange, type SharedContext } from "./context-attachments";
import { fileIcon } from "./file-icons";
import { mentionRanges } from "./mentions";
import type { PromptEditor } from "./prompt-editor";
import { IconButton } from "../timeline/elements";

interface ChipsProps {
  readonly session: SessionModel;
  readonly gateway: Gateway;
  readonly composition: Composition;
  readonly editor: PromptEditor;
}

export function AttachmentChips({ session, gateway, composition, editor }: ChipsProps) {
  const context = gateway.editorContext?.value;
  const mentioned = composition.files.paths.value;
  const attachments = composition.attachments.value;
  const leftOut = useComputed(
    () => (composition.takesImages.value ?? session.detail.value?.promptCapabilities?.image) === false,
  );
  const { activeFile, language = "", selection, openFiles = [], problems = [] } = context ?? {};
  const folder = session.detail.value?.summary?.workspace ?? "";
  const selected = selection !== undefined && selection.text !== "";
  const shown = openFiles.length + problems.length + mentioned.length + attachments.length;
  if (activeFile === undefined && !selected && shown === 0) return null;
  return (
    <ul class="p-chips" aria-label="Attachments">
      {activeFile !== undefined && (
        <ContextChip
          what="file"
          text={baseName(activeFile)}
          title={`${shortPath(activeFile, folder)} ${language}`.trim()}
          composition={composition}
        />
      )}
      {selected && (
        <ContextChip
          what="selection"
          text={`Selection, ${lineRange(selection)}`}
          title={selection.text.slice(0, 500)}
          composition={composition}
        />
      )}
      {openFiles.length > 0 && (
        <ContextChip
          what="tabs"
          text={openFiles.length === 1 ? "1 open tab" : `${openFiles.length} open tabs`}
          title={openFiles.map((path) => shortPath(path, folder)).join("\n")}
          composition={composition}
        />
      )}
      {problems.length > 0 && (
        <ContextChip
          what="problems"
          text={problems.length === 1 ? "1 problem" : `${problems.length} problems`}
          title={problems
            .map(({ message }) => message)
            .join("\n")
            .slice(0, 500)}
          composition={composition}
        />
      )}
      {mentioned.map((path) => (
        <li key={`mention ${path}`} class="p-chip" title={path}>
          <i class={`codicon codicon-${fileIcon(path)}`} aria-hidden="true" />
          <span class="p-chip-name">{baseName(path)}</span>
          <IconButton
            icon="close"
            className="p-chip-remove"
            label={`Remove ${path} from the prompt`}
            act={() => {
              for (const { start, end } of mentionRanges(editor.text, path)) editor.replace(start, end, "");
              editor.focus();
            }}
          />
        </li>
      ))}
      {attachments.map((attachment) => (
        <AttachmentChip
          key={attachment.id}
          attachment={attachment}
          leftOut={leftOut.value && attachment.mimeType.startsWith("image/")}
          remove={() => {
            composition.detach(attachment.id);
            editor.focus();
          }}
        />
      ))}
    </ul>
  );
}

interface ContextChipProps {
  readonly what: keyof SharedContext;
  readonly text: string;
  readonly title: string;
  readonly composition: Composition;
}

function ContextChip({ what, text, title, composition }: ContextChipProps) {
  const on = composition.shared.value[what];
  const name = what === "file" ? `Active file: ${text}` : text;
  return (
    <li>
      <button
        type="button"
        class={`p-chip p-chip-context${on ? "" : " p-chip-off"}`}
        aria-pressed={on}
        aria-label={name}
        title={`${name}. ${on ? "Included in prompts; click to leave it out." : "Left out of prompts; click to include it."}\n${title}`}
        onClick={() => composition.share(what, !on)}
      >
        <i class={`codicon codicon-${on ? "eye" : "eye-closed"}`} aria-hidden="true" />
        <span class="p-chip-name">{text}</span>
      </button>
    </li>
  );
}

interface AttachmentChipProps {
  readonly attachment: Attachment;
  readonly leftOut: boolean;
  readonly remove: () => void;
}

function AttachmentChip({ attachment, leftOut, remove }: AttachmentChipProps) {
  const { name, data, preview } = attachment;
  return (
    <li class="p-chip" title={`${name}, ${formatSize(data.byteLength)}`}>
      {preview === undefined ? (
        <i class={`codicon codicon-${fileIcon(name)}`} aria-hidden="true" />
      ) : (
        <img class="p-chip-picture" src={preview} alt="" />
      )}
      <span class="p-chip-name">
        <bdi>{name}</bdi>
      </span>
      {leftOut ? (
        <span class="p-chip-note" title="It will be left out, and the timeline will say so.">
          images not supported
        </span>
      ) : (
        <span class="p-chip-size">{formatSize(data.byteLength)}</span>
      )}
      <IconButton icon="close" className="p-chip-remove" label={`Remove ${name}`} act={remove} />
    </li>
  );
}

function baseName(path: string): string {
  return /[^\\/]*[\\/]?$/.exec(path)?.[0] ?? path;
}
