// Problems that a change added to files and removed from them.

import { Severity, type FileProblems, type Problem } from "../../generated/portico/v1/events_pb";
import { FileLink, type LinkContext } from "./content-blocks";
import { Icon } from "./elements";

const ICONS: Readonly<Record<Severity, string>> = {
  [Severity.UNSPECIFIED]: "info",
  [Severity.ERROR]: "error",
  [Severity.WARNING]: "warning",
  [Severity.INFORMATION]: "info",
  [Severity.HINT]: "lightbulb",
};
const LABELS: Readonly<Record<Severity, string>> = {
  [Severity.UNSPECIFIED]: "problem",
  [Severity.ERROR]: "error",
  [Severity.WARNING]: "warning",
  [Severity.INFORMATION]: "information",
  [Severity.HINT]: "hint",
};

interface ProblemsProps {
  readonly files: readonly FileProblems[];
}

/** Number of new and solved problems, on the line of a card. */
export function ProblemCounts({ files }: ProblemsProps) {
  const added = files.flatMap((file) => file.added);
  const removed = files.reduce((sum, file) => sum + file.removed.length, 0);
  if (added.length === 0 && removed === 0) return null;
  const worst = added.some(({ severity }) => severity === Severity.ERROR) ? "error" : "warning";
  return (
    <span class="p-problems">
      {added.length > 0 && (
        <span class={`p-problems-${worst}`}>
          <Icon name={worst} />
          <span aria-hidden="true">{added.length}</span>
          <span class="p-aloud">{amount(added.length, "new problem")}</span>
        </span>
      )}
      {removed > 0 && (
        <span class="p-problems-solved">
          <Icon name="pass" />
          <span aria-hidden="true">{removed}</span>
          <span class="p-aloud">{amount(removed, "problem")} solved</span>
        </span>
      )}
    </span>
  );
}

export function ProblemList({ files, context }: ProblemsProps & { readonly context: LinkContext }) {
  if (files.length === 0) return null;
  return (
    <ul class="p-problem-list" aria-label="Problems">
      {files.flatMap((file) => [
        ...file.added.map((problem) => line(file.path, problem, false, context)),
        ...file.removed.map((problem) => line(file.path, problem, true, context)),
      ])}
    </ul>
  );
}

function line(path: string, problem: Problem, solved: boolean, context: LinkContext) {
  const { severity, message, source } = problem;
  return (
    <li key={`${path} ${String(solved)} ${problem.line} ${message}`} class={solved ? "p-problem-gone" : ""}>
      <span class={`p-problem-icon p-problem-${solved ? "solved" : LABELS[severity]}`}>
        <Icon name={solved ? "pass" : ICONS[severity]} />
        <span class="p-aloud">{solved ? "solved" : `new ${LABELS[severity]}`}</span>
      </span>
      <FileLink path={path} line={problem.line} context={context} />
      <span class="p-problem-text">{message}</span>
      {source !== "" && <span class="p-problem-source">{source}</span>}
    </li>
  );
}

function amount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
