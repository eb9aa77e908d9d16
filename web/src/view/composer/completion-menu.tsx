// Completion menu: commands and prompts after a /, files after an @. The focus stays in the text.

import { useLayoutEffect, useRef } from "preact/hooks";
import { splitByMatch } from "./completion-trigger";
import type { Completer, CompletionMenuState, Completion } from "./completer";
import { fileIcon } from "./file-icons";

export const MENU_ID = "p-completions";

export function offerId(place: number): string {
  return `${MENU_ID}-${place}`;
}

export function CompletionMenu({ completer }: { completer: Completer }) {
  const menu = completer.menu.value;
  const list = useRef<HTMLUListElement>(null);
  const chosen = menu?.chosen;
  useLayoutEffect(() => {
    if (chosen !== undefined) list.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <>
      <span class="p-aloud" role="status">
        {menu === undefined ? "" : countOf(menu)}
      </span>
      {menu !== undefined && menu.completions.length === 0 && !menu.searching && (
        <div class="p-popup p-completions p-completions-none p-soft">
          No files match “{menu.trigger.query}”.
        </div>
      )}
      {menu !== undefined && menu.completions.length > 0 && (
        <ul
          ref={list}
          id={MENU_ID}
          class="p-popup p-completions"
          role="listbox"
          // A list that scrolls must be one that the focus could reach.
          tabIndex={0}
          aria-label={menu.trigger.kind === "file" ? "Files" : "Commands and prompts"}
          onMouseDown={(event) => event.preventDefault()}
        >
          {menu.completions.map((offer, place) => (
            <li
              key={`${offer.kind} ${offer.name}`}
              id={offerId(place)}
              role="option"
              class="p-choice"
              aria-selected={place === menu.chosen}
              onMouseMove={() => completer.choose(place)}
              onClick={() => completer.acceptAt(place)}
            >
              {offer.kind === "file" ? <FileOffer offer={offer} /> : <CommandOffer offer={offer} />}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function FileOffer({ offer }: { offer: Completion }) {
  // A folder ends with a slash of its own.
  const cut = offer.name.lastIndexOf("/", offer.name.length - 2) + 1;
  const folder = Array.from(offer.name.slice(0, cut)).length;
  const inFolder = offer.matched.filter((place) => place < folder);
  const inName = offer.matched.filter((place) => place >= folder).map((place) => place - folder);
  return (
    <span class="p-offer" title={offer.name}>
      <i class={`codicon codicon-${fileIcon(offer.name)}`} aria-hidden="true" />
      <span class="p-offer-name">
        <Letters text={offer.name.slice(cut)} matched={inName} />
      </span>
      <span class="p-offer-more p-offer-folder">
        <bdi>
          <Letters text={offer.name.slice(0, Math.max(0, cut - 1))} matched={inFolder} />
        </bdi>
      </span>
    </span>
  );
}

function CommandOffer({ offer }: { offer: Completion }) {
  const about = offer.problem === "" ? offer.description : `unusable: ${offer.problem}`;
  return (
    <span class="p-offer" title={about}>
      <span class="p-offer-name">
        /<Letters text={offer.name} matched={offer.matched} />
        {offer.hint !== "" && <span class="p-offer-hint"> {offer.hint}</span>}
      </span>
      <span class="p-offer-more">{about}</span>
      {offer.kind === "prompt" && <span class="p-offer-kind">prompt</span>}
    </span>
  );
}

function Letters({ text, matched }: { text: string; matched: readonly number[] }) {
  return <>{splitByMatch(text, matched).map((run) => (run.bold ? <b>{run.text}</b> : run.text))}</>;
}

function countOf({ trigger, completions, searching }: CompletionMenuState): string {
  if (searching) return "";
  const thing = trigger.kind === "file" ? "file" : "choice";
  return completions.length === 1 ? `1 ${thing}` : `${completions.length} ${thing}s`;
}
