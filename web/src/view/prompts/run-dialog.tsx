// Dialog that runs a prompt file on a file of the folder: pick, values, progress, result.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useMemo } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import type { KeptPrompt, PromptVariable } from "../../generated/portico/v1/agent_pb";
import { withVisibleControls } from "../../markdown/direction-controls";
import { costLimit, describePrompt, dollars, groupPrompts } from "../../model/prompt-list";
import { PromptRun } from "../../model/prompt-run";
import type { SessionModel } from "../../model/types";
import { Dialog } from "../dialog";
import { Form, FormProblem } from "../form";
import type { RowContext } from "../timeline/row-context";
import { RunProgress, RunResult } from "./run-result";

interface RunDialogProps {
  readonly session: SessionModel;
  readonly gateway: Gateway;
  readonly onLeave: () => void;
}

export function RunDialog({ session, gateway, onLeave }: RunDialogProps) {
  const run = useMemo(() => {
    return new PromptRun(gateway, session.detail.peek()?.summary?.workspace ?? "");
  }, [gateway, session]);
  const { workspace } = run;
  useEffect(() => void run.load(), [run]);
  const leave = (): void => {
    if (run.running.peek()) run.cancel();
    onLeave();
  };
  const context: RowContext = { session, gateway, workspace, onNewSession: () => undefined };
  const { chosen } = run;
  const title = chosen.value === undefined ? "Run a prompt" : `Run ${chosen.value.name}`;
  return (
    <Dialog title={title} kind="form p-dialog-wide" onLeave={leave}>
      {chosen.value === undefined && <PromptPick run={run} workspace={workspace} />}
      {chosen.value !== undefined && run.running.value && <RunProgress run={run} context={context} />}
      {chosen.value !== undefined && run.result.value !== undefined && (
        <RunResult
          run={run}
          prompt={chosen.value}
          result={run.result.value}
          context={context}
          leave={leave}
        />
      )}
      {chosen.value !== undefined && !run.running.value && run.result.value === undefined && (
        <Values run={run} prompt={chosen.value} findFiles={(query) => session.findFiles(query)} />
      )}
    </Dialog>
  );
}

function PromptPick({ run, workspace }: { readonly run: PromptRun; readonly workspace: string }) {
  const words = useSignal("");
  const { prompts, usual } = run;
  const matches = (prompt: KeptPrompt): boolean =>
    [prompt.name, prompt.description, ...prompt.tags]
      .join(" ")
      .toLowerCase()
      .includes(words.value.trim().toLowerCase());
  const found = prompts.value?.filter(matches) ?? [];
  return (
    <>
      <input
        class="p-field"
        type="search"
        aria-label="Search prompts"
        placeholder="Search prompts"
        onInput={(event) => (words.value = event.currentTarget.value)}
      />
      <FormProblem text={run.problem.value} />
      {prompts.value !== undefined && found.length === 0 && <p class="p-soft">No prompts match.</p>}
      <div>
        {groupPrompts(found, workspace).map((group) => (
          <section key={group.title} aria-label={group.title}>
            <h3 class="p-label">{withVisibleControls(group.title)}</h3>
            {group.prompts.map((prompt) => (
              <button
                key={prompt.name}
                type="button"
                class="p-entry p-entry-open"
                disabled={prompt.problem !== ""}
                onClick={() => run.choose(prompt)}
              >
                <strong>{withVisibleControls(prompt.name)}</strong>{" "}
                {withVisibleControls(prompt.problem === "" ? prompt.description : prompt.problem)}
                <br />
                <span class="p-soft">{describePrompt(prompt, usual.value)}</span>
              </button>
            ))}
          </section>
        ))}
      </div>
    </>
  );
}

type FindFiles = (query: string) => Promise<readonly { readonly path: string }[] | undefined>;

interface ValuesProps {
  readonly run: PromptRun;
  readonly prompt: KeptPrompt;
  readonly findFiles: FindFiles;
}

function Values({ run, prompt, findFiles }: ValuesProps) {
  const limit = costLimit(prompt.budget, run.usual.value);
  const model = prompt.model === "" ? run.usual.value.model : prompt.model;
  return (
    <Form onSubmit={() => void run.run()}>
      {run.takesFile.value && <FileField run={run} findFiles={findFiles} />}
      {run.variables.value.map((variable) => (
        <VariableField key={variable.name} run={run} variable={variable} />
      ))}
      <Field label="Model of this run">
        {(id) => (
          <select
            id={id}
            class="p-field p-select"
            onChange={(event) => (run.model.value = event.currentTarget.value)}
          >
            <option value="">{model === "" ? "the default" : `${model} (default)`}</option>
            {run.models.value
              .filter((name) => name !== model)
              .map((name) => (
                <option key={name}>{name}</option>
              ))}
          </select>
        )}
      </Field>
      <Field label="Maximum cost of this run">
        {(id) => (
          <input
            id={id}
            class="p-field p-form-input"
            inputMode="decimal"
            placeholder={limit === undefined ? "no limit" : dollars(limit)}
            value={run.maxCost.value}
            onInput={(event) => (run.maxCost.value = event.currentTarget.value)}
          />
        )}
      </Field>
      <FormProblem text={run.problem.value} />
      <div class="p-card-actions">
        <button type="button" class="p-button" onClick={() => run.choose(undefined)}>
          Back
        </button>
        <button type="submit" class="p-button p-button-main">
          Run
        </button>
      </div>
    </Form>
  );
}

function FileField({ run, findFiles }: { readonly run: PromptRun; readonly findFiles: FindFiles }) {
  const list = useId();
  const files = useSignal<readonly string[]>([]);
  const look = async (query: string): Promise<void> => {
    const found = await findFiles(query);
    if (run.file.peek() === query) files.value = (found ?? []).map(({ path }) => path);
  };
  useEffect(() => void look(run.file.peek()), [run]);
  return (
    <Field label="File">
      {(id) => (
        <>
          <input
            id={id}
            class="p-field p-form-input"
            list={list}
            autofocus
            value={run.file.value}
            placeholder="a file of the folder"
            onInput={(event) => {
              run.file.value = event.currentTarget.value;
              run.problem.value = "";
              void look(event.currentTarget.value);
            }}
          />
          <datalist id={list}>
            {files.value.map((path) => (
              <option key={path} value={path} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}

function VariableField({ run, variable }: { readonly run: PromptRun; readonly variable: PromptVariable }) {
  const { name, description, defaultValue, sessionValue } = variable;
  const isOptional = (sessionValue ?? defaultValue) !== undefined;
  return (
    <Field label={`${withVisibleControls(name)}${isOptional ? " (optional)" : ""}`} about={description}>
      {(id) => (
        <input
          id={id}
          class="p-field p-form-input"
          value={run.typed.value[name] ?? ""}
          onInput={(event) => run.type(name, event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface FieldProps {
  readonly label: string;
  readonly about?: string;
  readonly children: (id: string) => ComponentChildren;
}

function Field({ label, about = "", children }: FieldProps) {
  const id = useId();
  return (
    <div class="p-form-field">
      <label for={id}>{label}</label>
      {about !== "" && <span class="p-soft p-form-about">{withVisibleControls(about)}</span>}
      {children(id)}
    </div>
  );
}
