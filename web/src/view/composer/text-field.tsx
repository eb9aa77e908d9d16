// The field for the words. The browser owns what stands in it; the draft follows, and only words from
// elsewhere are ever written back.

import { untracked, useComputed, useSignalEffect, type ReadonlySignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { SessionModel } from "../../model/types";
import { isAboutFiles } from "./attachments";
import type { Completer } from "./completer";
import { MENU_ID, offerId } from "./completion-menu";
import type { Composition } from "./composition";
import type { TextBox } from "./text-box";
import { isActive } from "./turn";

export interface AgentName {
  readonly name: string;
  readonly title: string;
}

interface TextFieldProps {
  readonly session: SessionModel;
  readonly composition: Composition;
  readonly box: TextBox;
  readonly completer: Completer;
  readonly agent: ReadonlySignal<AgentName>;
  readonly closed: ReadonlySignal<boolean>;
}

export function TextField(props: TextFieldProps) {
  const { session, box, completer, agent, closed, composition } = props;
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    if (field.current === null) return undefined;
    const detach = box.attach(field.current);
    // Whoever comes by keyboard, along the tabs, keeps their place.
    if (document.activeElement === document.body) box.focus();
    return detach;
  }, [box]);
  // Drawn along with the menu itself, so that neither ever speaks of the other when it is not there.
  const menu = completer.menu.value;
  const offered = menu !== undefined && menu.offers.length > 0 ? menu : undefined;
  const look = (): void => {
    if (!box.composing) completer.look(box.text, box.caret);
  };
  const hasCommands = useComputed(() => (session.detail.value?.commands.length ?? 0) > 0);
  // Whoever has just begun a session may be waiting for them behind a slash.
  useSignalEffect(() => {
    if (hasCommands.value && document.activeElement === field.current) untracked(look);
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
        box.typed(event.isComposing);
        look();
      }}
      onCompositionStart={() => box.beginComposing()}
      onCompositionEnd={() => box.endComposing()}
      onSelect={look}
      onBlur={() => completer.leave()}
      onKeyDown={(event) => {
        if (!event.isComposing && !box.composing && onKey(event, props)) event.preventDefault();
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
export function sendFrom(box: TextBox, composition: Composition): void {
  if (!selectBlank(box, composition)) void composition.send();
}

function selectBlank(box: TextBox, { blanks }: Composition, from = 0): boolean {
  const blank = blanks.find(box.text, from);
  if (blank !== undefined) box.select(blank.start, blank.end);
  return blank !== undefined;
}

/** Whether the key has been dealt with. */
function onKey(event: KeyboardEvent, { session, composition, box, completer }: TextFieldProps): boolean {
  const { key } = event;
  if (event.ctrlKey || event.metaKey) {
    if (key !== "Enter" || event.altKey || event.shiftKey) return false;
    sendFrom(box, composition);
    return true;
  }
  if (event.altKey || event.shiftKey) {
    if (key !== "Enter" || !event.altKey) return false;
    box.replace(box.caret, box.caret, "\n");
    return true;
  }
  if (completer.takesKey(key)) return true;
  switch (key) {
    case "Enter":
      if (composition.sendKey.peek() === "ctrl_enter") return false;
      sendFrom(box, composition);
      return true;
    case "Tab":
      return selectBlank(box, composition, box.caret);
    case "Escape":
      return escape(session, composition, box);
    case "ArrowUp":
      return walkBack(session, composition, box);
    case "ArrowDown":
      return box.caretIsAtAnEnd && put(box, composition.history.newer(box.text));
    default:
      return false;
  }
}

function escape(session: SessionModel, composition: Composition, box: TextBox): boolean {
  if (composition.waiting.peek() !== undefined) composition.withdraw();
  else if (isActive(session.state.peek())) void session.stop();
  else return put(box, composition.history.leave(box.text));
  return true;
}

function walkBack(session: SessionModel, { history }: Composition, box: TextBox): boolean {
  const { text } = box;
  const walking = history.isShowing(text) && box.caretIsAtAnEnd;
  if (!walking && text.trim() !== "") return false;
  const moved = put(box, history.older(text));
  if (history.atOldest && session.hasEarlier.peek()) void session.loadEarlier();
  return moved || walking;
}

function put(box: TextBox, text: string | undefined): boolean {
  if (text !== undefined) box.replaceAll(text);
  return text !== undefined;
}

function placeholder(agent: string, closed: boolean): string {
  if (closed) return "This session is in use elsewhere";
  return agent === "" ? "Write to the agent" : `Ask ${agent}`;
}
