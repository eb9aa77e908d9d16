// Progress and result of a run: the answer, its facts, and what can be done with it.

import { create } from "@bufbuild/protobuf";
import { useMemo } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { KeptPrompt, PromptRunResult } from "../../generated/portico/v1/agent_pb";
import { DiffPartSchema } from "../../generated/portico/v1/events_pb";
import { withVisibleControls } from "../../markdown/direction-controls";
import { runSummary } from "../../model/prompt-list";
import type { PromptRun } from "../../model/prompt-run";
import { FormProblem } from "../form";
import { DiffView } from "../timeline/diff-view";
import { Code, Markdown } from "../timeline/elements";
import { putIntoDraft, type RowContext } from "../timeline/row-context";

interface ProgressProps {
  readonly run: PromptRun;
  readonly context: RowContext;
}

export function RunProgress({ run, context }: ProgressProps) {
  return (
    <>
      <p class="p-soft" role="status">
        {withVisibleControls(run.step.value === "" ? "Running…" : run.step.value)}
      </p>
      <div>
        <Markdown text={run.text.value} open={true} context={context} />
      </div>
      <div class="p-card-actions">
        <button type="button" class="p-button" onClick={() => run.cancel()}>
          Cancel
        </button>
      </div>
    </>
  );
}

interface ResultProps extends ProgressProps {
  readonly prompt: KeptPrompt;
  readonly result: PromptRunResult;
  readonly leave: () => void;
}

type Shown = "answer" | "provenance" | "comparison";

export function RunResult({ run, prompt, result, context, leave }: ResultProps) {
  const shown = useSignal<Shown>("answer");
  const hasText = result.text.trim() !== "";
  const toggle = (what: Shown): void => {
    shown.value = shown.value === what ? "answer" : what;
  };
  const insert = (): void => {
    leave();
    putIntoDraft(context.session, result.text.trim());
  };
  const file = `${prompt.name.replaceAll("/", "-")}.md`;
  return (
    <>
      <p role="status">{withVisibleControls(runSummary(prompt.name, result))}</p>
      {result.warnings.map((warning) => (
        <p key={warning} class="p-soft">
          {withVisibleControls(warning)}
        </p>
      ))}
      {result.outputPath !== "" && <p>Written to {withVisibleControls(result.outputPath)}.</p>}
      <FormProblem text={run.problem.value} />
      <div>
        {shown.value === "answer" && <Markdown text={result.text} open={false} context={context} />}
        {shown.value === "provenance" && (
          <Code text={result.provenanceJson} language="json" context={context} />
        )}
        {shown.value === "comparison" && <Comparison run={run} result={result} context={context} />}
      </div>
      <SessionVariables run={run} result={result} />
      <div class="p-card-actions">
        <button
          type="button"
          class="p-button"
          aria-pressed={shown.value === "provenance"}
          onClick={() => toggle("provenance")}
        >
          Show provenance
        </button>
        {hasText && (
          <button
            type="button"
            class="p-button"
            onClick={() =>
              context.gateway.save(file, `${result.frontMatter}${result.text.trimEnd()}\n`, context.workspace)
            }
          >
            Save as…
          </button>
        )}
        {hasText && result.sourceText !== undefined && (
          <button
            type="button"
            class="p-button"
            aria-pressed={shown.value === "comparison"}
            onClick={() => toggle("comparison")}
          >
            Compare with source
          </button>
        )}
        {hasText && (
          <button type="button" class="p-button p-button-main" onClick={insert}>
            Insert into the composer
          </button>
        )}
      </div>
    </>
  );
}

/** Shows what would be written, and where. */
function SessionVariables({ run, result }: { readonly run: PromptRun; readonly result: PromptRunResult }) {
  const saved = useSignal("");
  const { savable, variablesPath } = result;
  if (variablesPath === "" || Object.keys(savable).length === 0) return null;
  if (saved.value !== "") return <p role="status">Saved in {withVisibleControls(saved.value)}.</p>;
  return (
    <div class="p-form-field">
      <span class="p-soft">Values that can be kept in {withVisibleControls(variablesPath)}:</span>
      {Object.entries(savable).map(([name, value]) => (
        <code key={name}>{withVisibleControls(`${name}: ${JSON.stringify(value)}`)}</code>
      ))}
      <button
        type="button"
        class="p-link-button"
        onClick={() => void run.saveVariables().then((path) => (saved.value = path))}
      >
        Save as session variables
      </button>
    </div>
  );
}

function Comparison({ run, result, context }: ProgressProps & { readonly result: PromptRunResult }) {
  const part = useMemo(
    () =>
      create(DiffPartSchema, {
        path: run.file.peek(),
        oldText: result.sourceText ?? "",
        newText: `${result.text.trimEnd()}\n`,
      }),
    [run, result],
  );
  return <DiffView part={part} place={`run ${result.traceId}`} context={context} />;
}
