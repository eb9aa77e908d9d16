// Prints the texts of TypeScript sources that people can see, one JSON object {file, line, text} per line.
//
// node scripts/list-strings.mjs SRC_FOLDER ...

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

/** Attributes of elements, the values of which are shown or read aloud. */
const SHOWN_ATTRIBUTES = new Set([
  "aria-label",
  "aria-description",
  "aria-roledescription",
  "alt",
  "hint",
  "label",
  "placeholder",
  "text",
  "title",
]);
/** Properties of objects, the values of which are shown even if they are one lowercase word. */
const SHOWN_PROPERTIES = new Set([
  "description",
  "detail",
  "hint",
  "label",
  "message",
  "placeholder",
  "title",
  "words",
]);

for (const folder of process.argv.slice(2)) {
  for (const name of readdirSync(folder, { recursive: true }).sort()) {
    if (/\.tsx?$/.test(name) && !name.startsWith("generated")) listFile(join(folder, name));
  }
}

function listFile(file) {
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
  visit(source);

  function visit(node) {
    const text = textOf(node);
    if (text !== undefined) {
      if (isShown(node, text)) {
        const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
        console.log(JSON.stringify({ file, line: line + 1, text }));
      }
      if (!ts.isTemplateExpression(node)) return;
    }
    ts.forEachChild(node, visit);
  }

  function textOf(node) {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || ts.isTypeNode(node)) return "";
    if (ts.isJsxText(node)) return node.text.replace(/\s+/g, " ").trim();
    if (ts.isStringLiteralLike(node)) return node.text;
    if (!ts.isTemplateExpression(node)) return undefined;
    const spans = node.templateSpans.map(
      (span) => `{${span.expression.getText(source)}}${span.literal.text}`,
    );
    return node.head.text + spans.join("");
  }
}

/** Whether people see a text: it is in an element or a shown attribute, or it looks like words and not like an id. */
function isShown(node, text) {
  const parent = node.parent;
  if (!/[A-Za-z]/.test(text)) return false;
  if (ts.isJsxText(node)) return true;
  if (ts.isPropertyAssignment(parent) && parent.name === node) return false;
  if (ts.isJsxAttribute(parent)) return SHOWN_ATTRIBUTES.has(parent.name.getText());
  if (ts.isPropertyAssignment(parent) && SHOWN_PROPERTIES.has(parent.name.getText())) return true;
  if (/^(\.\/|[a-z-]+\/)|^(p|vscode|portico)[-.]|[{}];|^[a-z-]+:\s*[a-z0-9-]+;?$/.test(text)) return false;
  return /\S\s+\S/.test(text.replace(/\{[^}]*\}/g, "x"))
    ? !/^(p-\S+\s*)+/.test(text)
    : /^[A-Z][a-z]+[a-z….!?]*$/.test(text);
}
