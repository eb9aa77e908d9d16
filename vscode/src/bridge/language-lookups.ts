// Lookups by VS Code's language features: definitions, references, symbols, hovers and problems.

import type { MessageInitShape } from "@bufbuild/protobuf";
import * as vscode from "vscode";
import {
  EditorLookupKind,
  ProblemSeverity,
  type EditorFindingsSchema,
  type EditorLookup,
  type FoundPlaceSchema,
  type FoundProblemSchema,
  type ProblemListSchema,
} from "../../../web/src/generated/portico/v1/agent_pb";
import { findOpenDocument, pathOf, readText, uriOf } from "./file-uris";

const MOST_PLACES = 200;
const MOST_PROBLEMS = 500;
/** Files that are read only to show a line of each. */
const MOST_READ = 50;
const LONGEST_LINE = 300;
/** Language features need a moment for a file that was not open. */
const AWAKE = 3_000;
const LOOK_AGAIN = 200;

const SEVERITIES: Readonly<Record<vscode.DiagnosticSeverity, ProblemSeverity>> = {
  [vscode.DiagnosticSeverity.Error]: ProblemSeverity.ERROR,
  [vscode.DiagnosticSeverity.Warning]: ProblemSeverity.WARNING,
  [vscode.DiagnosticSeverity.Information]: ProblemSeverity.INFORMATION,
  [vscode.DiagnosticSeverity.Hint]: ProblemSeverity.HINT,
};

type Findings = MessageInitShape<typeof EditorFindingsSchema>;
type ProblemList = MessageInitShape<typeof ProblemListSchema>;
type Problem = MessageInitShape<typeof FoundProblemSchema>;
type Place = MessageInitShape<typeof FoundPlaceSchema>;
type Found = vscode.Location | vscode.LocationLink;
type Named = vscode.SymbolInformation | vscode.DocumentSymbol;

export async function lookUp(lookup: EditorLookup, signal: AbortSignal): Promise<Findings> {
  const { kind, path, query } = lookup;
  if (path === "") {
    if (kind === EditorLookupKind.SYMBOLS) {
      const symbols = await ask<Named>("executeWorkspaceSymbolProvider", query);
      return await withLineText(symbols.flatMap((one) => symbolPlaces(one)));
    }
    if (kind === EditorLookupKind.DIAGNOSTICS)
      return { problems: problemsOf(vscode.languages.getDiagnostics()) };
    throw new Error("This lookup needs a file and a position.");
  }
  const uri = uriOf(path);
  const isAwake = findOpenDocument(path) !== undefined;
  await vscode.workspace.openTextDocument(uri);
  const until = Date.now() + (isAwake ? 0 : AWAKE);
  for (;;) {
    const findings = await look(lookup, uri);
    if (!isEmpty(findings) || signal.aborted || Date.now() >= until) return findings;
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN));
  }
}

/** The problems that VS Code shows, as many as a lookup of all of them finds. */
export function problemsByFile(): ReadonlyMap<string, ProblemList> {
  const files = new Map<string, ProblemList & { readonly problems: Problem[] }>();
  for (const problem of problemsOf(vscode.languages.getDiagnostics())) {
    const { path = "" } = problem;
    const file = files.get(path) ?? { path, problems: [] };
    file.problems.push(problem);
    files.set(path, file);
  }
  return files;
}

async function look({ kind, line, column }: EditorLookup, uri: vscode.Uri): Promise<Findings> {
  const position = new vscode.Position(Math.max(0, line), Math.max(0, column));
  switch (kind) {
    case EditorLookupKind.DEFINITION:
      return await withLineText(
        (await ask<Found>("executeDefinitionProvider", uri, position)).flatMap(place),
      );
    case EditorLookupKind.REFERENCES:
      return await withLineText((await ask<Found>("executeReferenceProvider", uri, position)).flatMap(place));
    case EditorLookupKind.SYMBOLS: {
      const symbols = await ask<Named>("executeDocumentSymbolProvider", uri);
      return await withLineText(symbols.flatMap((one) => symbolPlaces(one, uri)));
    }
    case EditorLookupKind.HOVER: {
      const hovers = await ask<vscode.Hover>("executeHoverProvider", uri, position);
      return { words: hovers.flatMap(({ contents }) => contents.map(hoverText)).join("\n\n") };
    }
    case EditorLookupKind.DIAGNOSTICS:
      return { problems: problemsOf([[uri, vscode.languages.getDiagnostics(uri)]]) };
    case EditorLookupKind.UNSPECIFIED:
      throw new Error("Unknown lookup. Update the extension.");
  }
}

/** No answer is an empty one. */
async function ask<One>(provider: string, ...given: unknown[]): Promise<readonly One[]> {
  return (await vscode.commands.executeCommand<One[] | undefined>(`vscode.${provider}`, ...given)) ?? [];
}

function isEmpty({ places = [], problems = [], words = "" }: Findings): boolean {
  return places.length + problems.length + words.length === 0;
}

function place(found: Found): Place[] {
  if ("uri" in found) return placeAt(found.uri, found.range);
  return placeAt(found.targetUri, found.targetSelectionRange ?? found.targetRange);
}

function placeAt(uri: vscode.Uri, { start, end }: vscode.Range, name = "", detail = ""): Place[] {
  const path = pathOf(uri);
  if (path === undefined) return [];
  const from = { line: start.line, column: start.character };
  return [{ path, ...from, endLine: end.line, endColumn: end.character, name, detail }];
}

/** A symbol and all that is inside it. */
function symbolPlaces(symbol: Named, uri?: vscode.Uri, inside = ""): Place[] {
  const kind = vscode.SymbolKind[symbol.kind].toLowerCase();
  const detail = (container: string): string => (container === "" ? kind : `${kind} in ${container}`);
  if ("location" in symbol) {
    const { location, name, containerName } = symbol;
    return placeAt(location.uri, location.range, name, detail(containerName));
  }
  if (uri === undefined) return [];
  const own = placeAt(uri, symbol.selectionRange, symbol.name, detail(inside));
  return [...own, ...symbol.children.flatMap((child) => symbolPlaces(child, uri, symbol.name))];
}

/** With the line at each. */
async function withLineText(all: readonly Place[]): Promise<Findings> {
  const places = all.slice(0, MOST_PLACES);
  const paths = [...new Set(places.map(({ path = "" }) => path))].slice(0, MOST_READ);
  const read = paths.map(async (path) => [path, await linesOf(path)] as const);
  const lines = new Map(await Promise.all(read));
  const textAtPlace = ({ path = "", line = 0 }: Place): string =>
    (lines.get(path)?.[line] ?? "").trim().slice(0, LONGEST_LINE);
  return { places: places.map((one) => ({ ...one, text: textAtPlace(one) })) };
}

async function linesOf(path: string): Promise<readonly string[]> {
  const text = findOpenDocument(path)?.getText() ?? (await readText(uriOf(path))) ?? "";
  return text.split(/\r\n|\r|\n/);
}

/** Most severe first. */
function problemsOf(all: readonly [vscode.Uri, readonly vscode.Diagnostic[]][]): Problem[] {
  const found = all.flatMap(([uri, diagnostics]) => {
    const path = pathOf(uri);
    return path === undefined ? [] : diagnostics.map((one) => ({ path, one }));
  });
  found.sort(({ one }, { one: other }) => one.severity - other.severity);
  return found.slice(0, MOST_PROBLEMS).map(({ path, one }) => ({
    path,
    line: one.range.start.line,
    column: one.range.start.character,
    severity: SEVERITIES[one.severity],
    message: one.message,
    source: one.source ?? "",
  }));
}

/** VS Code makes Markdown of whatever a provider says. */
function hoverText(content: vscode.Hover["contents"][number]): string {
  return content instanceof vscode.MarkdownString ? content.value : "";
}
