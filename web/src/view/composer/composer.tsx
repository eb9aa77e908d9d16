// The composer: prompt, attachments and options of the next turn. It follows only what it shows, so that typing costs
// the same however fast the timeline streams.

import { useComputed, type ReadonlySignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import type { Agent, SessionSummary } from "../../generated/portico/v1/agent_pb";
import type { SessionModel } from "../../model/types";
import type { OnNewSession } from "../cards";
import { AutoAcceptNote } from "../cards/auto-accept";
import { useFocusRetention } from "../focus-retention";
import { lazy } from "../lazy";
import { ModePicker } from "../review/mode-picker";
import { SandboxBadge } from "./sandbox-badge";
import { shortPath } from "../timeline/short-path";
import { AttachmentChips } from "./attachment-chips";
import { Completer } from "./completer";
import { CompletionMenu } from "./completion-menu";
import { compositionOf, type Composition } from "./composition";
import { DropZone } from "./drop-zone";
import { FolderNote } from "./folder-note";
import { FirstWriteNote } from "../review/first-write-note";
import { ComposerHints } from "./composer-hints";
import { mentionText } from "./mentions";
import { ContextMeter } from "./context-meter";
import { ComposerNotes } from "./composer-notes";
import { Pickers } from "./pickers";
import { PromptQueue } from "./prompt-queue";
import { AttachButton, SendButton } from "./send-button";
import { PromptEditor } from "./prompt-editor";
import { PromptField } from "./prompt-field";
import { useComposerSize } from "./composer-size";

const RunButton = lazy(() => import("../prompts/run-button").then((module) => module.RunButton));

export interface ComposerProps {
  readonly session: SessionModel;
  readonly gateway: Gateway;
  readonly agents: ReadonlySignal<readonly Agent[]>;
  /** Another session that writes in the same folder just now. */
  readonly writer: ReadonlySignal<SessionSummary | undefined>;
  readonly onNewSession: OnNewSession;
}

/** At the caret, as if they had been picked one after the other. */
function mention(
  paths: readonly string[],
  session: SessionModel,
  composition: Composition,
  editor: PromptEditor,
): void {
  const folder = session.detail.peek()?.summary?.workspace ?? "";
  const names = paths.map((path) => shortPath(path, folder));
  for (const name of names) composition.files.learn(name);
  const before = /(^|\s)$/.test(editor.text.slice(0, editor.caret)) ? "" : " ";
  if (names.length > 0)
    editor.replace(editor.caret, editor.caret, `${before}${names.map(mentionText).join(" ")} `);
}

/** Text typed while the prompt is fetched stays. */
async function usePrompt(
  name: string,
  session: SessionModel,
  composition: Composition,
  editor: PromptEditor,
): Promise<void> {
  const typed = editor.text;
  const pieces = await session.getPrompt(name);
  if (pieces === undefined || editor.text !== typed) return;
  editor.replaceAll(composition.blanks.textOf(pieces));
  const blank = composition.blanks.find(editor.text);
  if (blank !== undefined) editor.select(blank.start, blank.end);
}

export function Composer({ session, gateway, agents, writer, onNewSession }: ComposerProps) {
  const composition = compositionOf(session, gateway);
  const { editor, completer } = useMemo(() => {
    const promptEditor = new PromptEditor(session.draft);
    const completions = new Completer({
      commands: () => session.detail.peek()?.commands ?? [],
      listPrompts: () => session.listPrompts(),
      findFiles: (query) => session.findFiles(query),
      insert: (start, end, text) => promptEditor.replace(start, end, text),
      picked: (path) => composition.files.learn(path),
      usePrompt: (name) => void usePrompt(name, session, composition, promptEditor),
    });
    return { editor: promptEditor, completer: completions };
  }, [session, composition]);
  const agent = useComputed(() => {
    const name = session.detail.value?.summary?.agent ?? "";
    return { name, title: agents.value.find((one) => one.name === name)?.title || name };
  });
  const isOpenElsewhere = useComputed(() => session.detail.value?.openElsewhere === true);
  const frame = useRef<HTMLElement>(null);
  const width = useComposerSize(frame);
  useEffect(() => composition.files.follow(), [composition]);
  useFocusRetention(frame, () => editor.focus());

  return (
    <section class="p-composer" aria-label="Composer" ref={frame}>
      <ComposerNotes session={session} composition={composition} agent={agent} editor={editor} />
      <AutoAcceptNote session={session} />
      <FirstWriteNote session={session} gateway={gateway} />
      <FolderNote session={session} gateway={gateway} writer={writer} onNewSession={onNewSession} />
      <PromptQueue session={session} writer={writer} />
      <DropZone
        composition={composition}
        closed={isOpenElsewhere}
        onMention={(paths) => mention(paths, session, composition, editor)}
      >
        <CompletionMenu completer={completer} />
        <AttachmentChips session={session} gateway={gateway} composition={composition} editor={editor} />
        <PromptField
          session={session}
          composition={composition}
          editor={editor}
          completer={completer}
          agent={agent}
          closed={isOpenElsewhere}
        />
        <div class="p-composer-bar">
          <AttachButton composition={composition} closed={isOpenElsewhere} />
          <RunButton session={session} gateway={gateway} />
          <Pickers
            session={session}
            gateway={gateway}
            agents={agents}
            agent={agent}
            width={width}
            onNewSession={onNewSession}
          />
          <ModePicker session={session} gateway={gateway} />
          <SandboxBadge session={session} />
          <ContextMeter session={session} />
          <SendButton session={session} composition={composition} editor={editor} closed={isOpenElsewhere} />
        </div>
      </DropZone>
      <ComposerHints session={session} composition={composition} />
    </section>
  );
}
