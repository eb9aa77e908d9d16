// Body of a tool call: input, locations, content, terminals and output.

import { ToolKind, type ToolPart } from "../../generated/portico/v1/events_pb";
import { TerminalBox } from "../../markdown/terminal-view";
import { parseContentBlock } from "../../model/content-block";
import type { ToolItem } from "../../model/types";
import { commandOf, inputText } from "../cards/permission-labels";
import type { RowContext } from "./row-context";
import { DiffView } from "./diff-view";
import { ContentBlockView, FileLink } from "./content-blocks";
import { Code, CopyIcon, IconButton, Markdown } from "./elements";
import { ProblemList } from "./problem-list";
import { isEmpty, stateOf } from "./tool-state";

interface ToolBodyProps {
  readonly item: ToolItem;
  readonly context: RowContext;
}

export function ToolBody({ item, context }: ToolBodyProps) {
  const named = new Set(
    item.content.flatMap(({ part }) => (part.case === "terminal" ? [part.value.terminalId] : [])),
  );
  const others = [...item.terminals.keys()].filter((id) => !named.has(id));
  const tellsOutput = stateOf(item) === "failed" || (item.content.length === 0 && item.terminals.size === 0);
  return (
    <div class="p-tool-body">
      <Input item={item} context={context} />
      <Locations item={item} context={context} />
      {item.content.map((part, index) => (
        <Part key={index} part={part} place={`${item.key} ${index}`} item={item} context={context} />
      ))}
      <ProblemList files={item.problems} context={context} />
      {others.map((id) => (
        <TerminalView key={id} id={id} item={item} context={context} />
      ))}
      {item.stoppable && stateOf(item) === "running" && (
        <button
          type="button"
          class="p-link-button"
          onClick={() => void context.session.stopTool(item.toolId)}
        >
          Stop research
        </button>
      )}
      {tellsOutput && !isEmpty(item.outputJson) && (
        <Json label="Output" json={item.outputJson ?? ""} context={context} />
      )}
    </div>
  );
}

/** The command that is run, or the input as it is; nothing where the title and the places say it all. */
function Input({ item, context }: ToolBodyProps) {
  const command = item.kind === ToolKind.EXECUTE ? commandOf(item.inputJson) : undefined;
  if (command !== undefined) {
    const { gateway, session } = context;
    return (
      <div class="p-command">
        <code>{command}</code>
        {gateway.showTerminal && (
          <IconButton
            icon="terminal"
            label="Show in terminal"
            act={() => gateway.showTerminal?.(session.id, item.toolId)}
          />
        )}
        <CopyIcon label="Copy command" text={() => command} />
      </div>
    );
  }
  const isTold = item.content.some(({ part }) => part.case === "diff") || saysOnlyPath(item);
  return isEmpty(item.inputJson) || isTold ? null : (
    <Json label="Input" json={item.inputJson ?? ""} context={context} />
  );
}

/** Whether an input names a file that the places show anyway, and perhaps numbers of lines. */
function saysOnlyPath({ inputJson, locations }: ToolItem): boolean {
  if (locations.length === 0 || inputJson === undefined) return false;
  try {
    const input = JSON.parse(inputJson) as unknown;
    if (typeof input !== "object" || input === null) return false;
    const paths = new Set<unknown>(locations.map((location) => location.path));
    return Object.values(input).every(
      (value) => typeof value === "number" || value === null || paths.has(value),
    );
  } catch {
    return false;
  }
}

function Json({ label, json, context }: { label: string; json: string; context: RowContext }) {
  const text = inputText(json);
  const isData = /^[[{]/.test(text);
  return (
    <div class="p-labelled">
      <span class="p-label">{label}</span>
      <Code text={text} language={isData ? "json" : "text"} context={context} />
    </div>
  );
}

function Locations({ item, context }: ToolBodyProps) {
  const shown = new Set(item.content.flatMap(({ part }) => (part.case === "diff" ? [part.value.path] : [])));
  const places = item.locations.filter(({ path }) => !shown.has(path));
  if (places.length === 0) return null;
  return (
    <ul class="p-places" aria-label="Files">
      {places.map(({ path, line }) => (
        <li key={`${path}:${line ?? 0}`}>
          <FileLink path={path} line={line} context={context} />
        </li>
      ))}
    </ul>
  );
}

function Part({ part: { part }, place, item, context }: { part: ToolPart; place: string } & ToolBodyProps) {
  switch (part.case) {
    case "text":
      return <Markdown text={part.value.text} open={false} context={context} />;
    case "diff":
      return <DiffView part={part.value} place={place} context={context} />;
    case "terminal":
      return <TerminalView id={part.value.terminalId} item={item} context={context} />;
    case "block":
      return <ContentBlockView block={parseContentBlock(part.value.blockJson)} context={context} />;
    case undefined:
      return null;
  }
}

interface TerminalViewProps extends ToolBodyProps {
  readonly id: string;
}

/** Output of a command, with a button to stop it, also before it prints anything. */
function TerminalView({ id, item, context }: TerminalViewProps) {
  const terminal = item.terminals.get(id);
  const { ended = false, exitCode, signal = "", leftOut = 0n } = terminal?.last ?? {};
  const good = exitCode === 0 && signal === "";
  return (
    <div class="p-terminal">
      {leftOut > 0n && <span class="p-label">{leftOut.toLocaleString("en")} characters omitted</span>}
      {terminal !== undefined && terminal.text !== "" && <TerminalBox text={terminal.text} />}
      {ended && <span class={good ? "p-label" : "p-label p-bad"}>{exitWords(exitCode, signal)}</span>}
      {!ended && stateOf(item) === "running" && (
        <button type="button" class="p-link-button" onClick={() => void context.session.stopCommand(id)}>
          Stop command
        </button>
      )}
    </div>
  );
}

function exitWords(exitCode: number | undefined, signal: string): string {
  if (signal !== "") return `ended by ${signal}`;
  return exitCode === undefined ? "ended" : `exit code ${exitCode}`;
}
