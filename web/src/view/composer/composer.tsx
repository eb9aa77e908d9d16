// Where the person writes: the text, what goes along with it, and the choices for the next turn. It
// follows only what it shows, so that typing costs the same however fast the timeline streams.

import { useComputed, type ReadonlySignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Gateway } from "../../gateway/types";
import type { Agent, SessionSummary } from "../../generated/portico/v1/agent_pb";
import type { SessionModel } from "../../model/types";
import type { OnNewSession } from "../cards";
import { useKeptFocus } from "../review/kept-focus";
import { ModePicker } from "../review/mode-picker";
import { SandboxBadge } from "./sandbox-badge";
import { shortPath } from "../timeline/paths";
import { Chips } from "./chips";
import { Completer } from "./completer";
import { CompletionMenu } from "./completion-menu";
import { compositionOf, type Composition } from "./composition";
import { DropZone } from "./drop-zone";
import { FolderNote } from "./folder-note";
import { Hints } from "./hints";
import { mentionText } from "./mentions";
import { ContextMeter } from "./meter";
import { Notes } from "./notes";
import { Pickers } from "./pickers";
import { QueueStack } from "./queue-stack";
import { AttachButton, SendButton } from "./send-button";
import { TextBox } from "./text-box";
import { TextField } from "./text-field";
import { useWidth } from "./room";

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
  box: TextBox,
): void {
  const folder = session.detail.peek()?.summary?.workspace ?? "";
  const names = paths.map((path) => shortPath(path, folder));
  for (const name of names) composition.files.learn(name);
  const before = /(^|\s)$/.test(box.text.slice(0, box.caret)) ? "" : " ";
  if (names.length > 0) box.replace(box.caret, box.caret, `${before}${names.map(mentionText).join(" ")} `);
}

/** What is typed while the prompt is fetched stays. */
async function usePrompt(
  name: string,
  session: SessionModel,
  composition: Composition,
  box: TextBox,
): Promise<void> {
  const typed = box.text;
  const pieces = await session.getPrompt(name);
  if (pieces === undefined || box.text !== typed) return;
  box.replaceAll(composition.blanks.textOf(pieces));
  const blank = composition.blanks.find(box.text);
  if (blank !== undefined) box.select(blank.start, blank.end);
}

export function Composer({ session, gateway, agents, writer, onNewSession }: ComposerProps) {
  const composition = compositionOf(session, gateway);
  const { box, completer } = useMemo(() => {
    const textBox = new TextBox(session.draft);
    const completions = new Completer({
      commands: () => session.detail.peek()?.commands ?? [],
      listPrompts: () => session.listPrompts(),
      findFiles: (query) => session.findFiles(query),
      insert: (start, end, text) => textBox.replace(start, end, text),
      picked: (path) => composition.files.learn(path),
      usePrompt: (name) => void usePrompt(name, session, composition, textBox),
    });
    return { box: textBox, completer: completions };
  }, [session, composition]);
  const agent = useComputed(() => {
    const name = session.detail.value?.summary?.agent ?? "";
    return { name, title: agents.value.find((one) => one.name === name)?.title || name };
  });
  const isOpenElsewhere = useComputed(() => session.detail.value?.openElsewhere === true);
  const frame = useRef<HTMLElement>(null);
  const width = useWidth(frame);
  useEffect(() => composition.files.follow(), [composition]);
  useKeptFocus(frame, () => box.focus());

  return (
    <section class="p-composer" aria-label="Write to the agent" ref={frame}>
      <Notes session={session} composition={composition} agent={agent} box={box} />
      <FolderNote session={session} gateway={gateway} writer={writer} onNewSession={onNewSession} />
      <QueueStack session={session} box={box} writer={writer} />
      <DropZone
        composition={composition}
        closed={isOpenElsewhere}
        onMention={(paths) => mention(paths, session, composition, box)}
      >
        <CompletionMenu completer={completer} />
        <Chips session={session} gateway={gateway} composition={composition} box={box} />
        <TextField
          session={session}
          composition={composition}
          box={box}
          completer={completer}
          agent={agent}
          closed={isOpenElsewhere}
        />
        <div class="p-composer-bar">
          <AttachButton composition={composition} closed={isOpenElsewhere} />
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
          <SendButton session={session} composition={composition} box={box} closed={isOpenElsewhere} />
        </div>
      </DropZone>
      <Hints session={session} composition={composition} />
    </section>
  );
}
