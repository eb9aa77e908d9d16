// Details of a permission request: command, change, input, locations.

import type { PermissionRequested } from "../../generated/portico/v1/events_pb";
import type { RowContext } from "../timeline/row-context";
import { DiffView } from "../timeline/diff-view";
import { FileLink } from "../timeline/content-blocks";
import { Code, Markdown } from "../timeline/elements";
import { commandOf, inputText } from "./permission-labels";

interface DetailsProps {
  readonly request: PermissionRequested;
  /** Names this request in its session. */
  readonly place: string;
  readonly context: RowContext;
}

export function hasDetails({ content, inputJson, locations }: PermissionRequested): boolean {
  return (
    content.length > 0 || locations.length > 0 || inputText(inputJson).replace(/^(\{\}|null)$/, "") !== ""
  );
}

/** Effect of a request, shown before it is allowed; raw parameters are folded. */
export function showsAction({ content, inputJson, locations }: PermissionRequested): boolean {
  return content.length > 0 || locations.length > 0 || commandOf(inputJson) !== undefined;
}

export function PermissionDetails({ request, place, context }: DetailsProps) {
  const command = commandOf(request.inputJson);
  const diffs = request.content.flatMap(({ part }) => (part.case === "diff" ? [part.value] : []));
  const texts = request.content.flatMap(({ part }) => (part.case === "text" ? [part.value.text] : []));
  const changed = new Set(diffs.map(({ path }) => path));
  const elsewhere = request.locations.filter(({ path }) => !changed.has(path));
  const input = command === undefined && diffs.length === 0 ? inputText(request.inputJson) : "";
  return (
    <div class="p-details">
      {command !== undefined && <Code text={command} language="shell" context={context} />}
      {texts.map((text) => (
        <Markdown key={text} text={text} open={false} context={context} />
      ))}
      {diffs.map((diff, index) => (
        <DiffView key={diff.path} part={diff} place={`${place} ${index}`} context={context} />
      ))}
      {input !== "" && <Code text={input} language="json" context={context} />}
      {elsewhere.length > 0 && (
        <ul class="p-details-places" aria-label="Places">
          {elsewhere.map(({ path, line }) => (
            <li key={`${path}:${line ?? 0}`}>
              <FileLink path={path} line={line} context={context} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
