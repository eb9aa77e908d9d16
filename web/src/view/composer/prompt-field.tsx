// Text field of the prompt. The browser owns its text; the draft follows, and only text from elsewhere is written back.

import { untracked, useComputed, useSignalEffect, type ReadonlySignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { SessionModel } from "../../model/types";
import { isAboutFiles } from "./attachments";
import type { Completer } from "./completer";
import { MENU_ID, offerId } from "./completion-menu";
import type { Composition } from "./composition";
import type { PromptEditor } from "./prompt-editor";
import { isActive } from "../shell/turn-state";

export interface AgentName {
  readonly name: string;
  readonly title: string;
}

interface TextFieldProps {
  readonly session: SessionModel;
  readonly composition: Composition;
  readonly editor: PromptEditor;
  readonly completer: Completer;
  readonly agent: ReadonlySignal<AgentName>;
  readonly closed: ReadonlySignal<boolean>;
}

export function PromptField(props: TextFieldProps) {
  const { session, editor, completer, agent, closed, composition } = props;
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    if (field.current === null) return undefined;
    const detach = editor.attach(field.current);
    // Keyboard users who step through the tabs keep their focus.
    if (document.activeElement === document.body) editor.focus();
    return detach;
  }, [editor]);
  // Drawn along with the menu itself, so that neither ever speaks of the other when it is not there.
  const menu = completer.menu.value;
  const offered = menu !== undefined && menu.completions.length > 0 ? menu : undefined;
  const look = (): void => {
    if (!editor.composing) completer.look(editor.text, editor.caret);
  };
  const commands = useComputed(() => session.detail.value?.commands);
  // The user may be waiting for them after a slash.
  useSignalEffect(() => {
    if ((commands.value?.length ?? 0) === 0 || document.activeElement !== field.current) return;
    untracked(() => {
      look();
      completer.updateCommands();
    });
  });
  const name = agent.value.title;
  return (
    <textarea
      ref={field}
      class="p-composer-text"
      rows={1}
      aria-label={name === "" ? "Prompt" : `Prompt for ${name}`}
      aria-autocomplete="list"
      aria-haspopup="listbox"
      aria-controls={offered && MENU_ID}
      aria-activedescendant={offered && offerId(offered.chosen)}
      placeholder={placeholder(name, closed.value)}
      readOnly={closed.value}
      spellcheck
      onInput={(event) => {
        editor.typed(event.isComposing);
        look();
      }}
      onCompositionStart={() => editor.beginComposing()}
      onCompositionEnd={() => editor.endComposing()}
      onSelect={look}
      onBlur={() => completer.leave()}
      onKeyDown={(event) => {
        if (!event.isComposing && !editor.composing && onKey(event, props)) event.preventDefault();
      }}
      onPaste={(event) => {
        const { types = [], files } = event.clipboardData ?? {};
        if (closed.peek() || files === undefined || !isAboutFiles(types, files.length)) return;
        event.preventDefault();
        void composition.attach([...files], true);
      }}
    />
  );
}

/** Sends, or shows what the person still has to say. */
export function sendFrom(editor: PromptEditor, composition: Composition): void {
  if (!selectBlank(editor, composition)) void composition.send();
}

function selectBlank(editor: PromptEditor, { blanks }: Composition, from = 0): boolean {
  const blank = blanks.find(editor.text, from);
  if (blank !== undefined) editor.select(blank.start, blank.end);
  return blank !== undefined;
}

/** Whether the key has been dealt with. */
function onKey(event: KeyboardEvent, { session, composition, editor, completer }: TextFieldProps): boolean {
  const { key } = event;
  if (event.ctrlKey || event.metaKey) {
    if (key !== "Enter" || event.altKey || event.shiftKey) return false;
    sendFrom(editor, composition);
    return true;
  }
  if (event.altKey || event.shiftKey) {
    if (key !== "Enter" || !event.altKey) return false;
    editor.replace(editor.caret, editor.caret, "\n");
    return true;
  }
  if (completer.takesKey(key)) return true;
  switch (key) {
    case "Enter":
      if (composition.sendKey.peek() === "ctrl_enter") return false;
      sendFrom(editor, composition);
      return true;
    case "Tab":
      return selectBlank(editor, composition, editor.caret);
    case "Escape":
      return escape(session, composition, editor);
    case "ArrowUp":
      return walkBack(session, composition, editor);
    case "ArrowDown":
      return editor.caretIsAtAnEnd && put(editor, composition.history.newer(editor.text));
    default:
      return false;
  }
}

function escape(session: SessionModel, composition: Composition, editor: PromptEditor): boolean {
  if (composition.waiting.peek() !== undefined) composition.withdraw();
  else if (isActive(session.state.peek())) void session.stop();
  else return put(editor, composition.history.leave(editor.text));
  return true;
}

function walkBack(session: SessionModel, { history }: Composition, editor: PromptEditor): boolean {
  const { text } = editor;
  const walking = history.isShowing(text) && editor.caretIsAtAnEnd;
  if (!walking && text.trim() !== "") return false;
  const moved = put(editor, history.older(text));
  if (history.atOldest && session.hasEarlier.peek()) void session.loadEarlier();
  return moved || walking;
}

function put(editor: PromptEditor, text: string | undefined): boolean {
  if (text !== undefined) editor.replaceAll(text);
  return text !== undefined;
}

function placeholder(agent: string, closed: boolean): string {
  if (closed) return "This session is in use elsewhere";
  return agent === "" ? "Ask the agent" : `Ask ${agent}`;
}
