// One field of a question: label, control and error.

import type { QuestionField } from "../../generated/portico/v1/events_pb";
import type { FieldValue } from "./question-form";

interface FieldProps {
  readonly id: string;
  readonly field: QuestionField;
  readonly value: FieldValue;
  readonly problem: string;
  readonly disabled: boolean;
  readonly onChange: (value: FieldValue) => void;
}

export function Field(props: FieldProps) {
  const { id, field, problem } = props;
  const words = field.title === "" ? field.name : field.title;
  const grouped = field.type === "choices" || isRadioGroup(field);
  const body = (
    <>
      {field.description !== "" && (
        <p id={`${id}-about`} class="p-form-about p-soft">
          {field.description}
        </p>
      )}
      {field.type !== "boolean" && <Control {...props} />}
      {problem !== "" && (
        <p id={`${id}-problem`} class="p-form-problem">
          {problem}
        </p>
      )}
    </>
  );
  if (grouped) {
    return (
      <fieldset class="p-form-field" id={id} tabIndex={-1} aria-describedby={describers(props)}>
        <legend>
          {words}
          <Required field={field} />
        </legend>
        {body}
      </fieldset>
    );
  }
  return (
    <div class="p-form-field">
      <label for={id} class={field.type === "boolean" ? "p-form-switch" : ""}>
        {field.type === "boolean" && <Control {...props} />}
        {words}
        <Required field={field} />
      </label>
      {body}
    </div>
  );
}

function Required({ field }: { field: QuestionField }) {
  if (!field.required || field.type === "boolean") return null;
  return (
    <span class="p-form-required" title="required">
      {" "}
      *
    </span>
  );
}

function Control(props: FieldProps) {
  const { id, field, value, problem, disabled, onChange } = props;
  const shared = {
    id,
    disabled,
    "aria-invalid": problem !== "",
    "aria-required": field.required,
    "aria-describedby": describers(props),
  };
  switch (field.type) {
    case "boolean":
      return (
        <input
          {...shared}
          type="checkbox"
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      );
    case "choice":
      if (isRadioGroup(field)) return <Radios {...props} />;
      return (
        <select
          {...shared}
          class="p-field p-select"
          value={String(value)}
          onChange={(event) => onChange(event.currentTarget.value)}
        >
          <option value="">{field.required ? "Choose…" : "None"}</option>
          {field.choices.map((choice) => (
            <option key={choice.value} value={choice.value} title={choice.description}>
              {choice.name === "" ? choice.value : choice.name}
            </option>
          ))}
        </select>
      );
    case "choices":
      return <Choices {...props} />;
    default:
      if (isLongText(field)) {
        return (
          <textarea
            {...shared}
            class="p-field p-form-input"
            style={{ height: "auto" }}
            rows={4}
            value={String(value)}
            onInput={(event) => onChange(event.currentTarget.value)}
          />
        );
      }
      return (
        <input
          {...shared}
          class="p-field p-form-input"
          type={inputType(field) as "text"}
          step={field.type === "integer" ? 1 : "any"}
          autocomplete={isSecret(field) ? "new-password" : "off"}
          value={String(value)}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      );
  }
}

function Radios({ id, field, value, disabled, onChange }: FieldProps) {
  return (
    <div class="p-form-choices">
      {field.choices.map((choice) => (
        <label key={choice.value} class="p-form-switch">
          <input
            type="radio"
            name={id}
            disabled={disabled}
            checked={value === choice.value}
            onChange={() => onChange(choice.value)}
          />
          <span>
            {choice.name === "" ? choice.value : choice.name}
            {choice.description !== "" && <span class="p-soft"> {choice.description}</span>}
          </span>
        </label>
      ))}
    </div>
  );
}

function Choices({ id, field, value, disabled, onChange }: FieldProps) {
  const picked = Array.isArray(value) ? (value as readonly string[]) : [];
  return (
    <div class="p-form-choices">
      {field.choices.map((choice) => (
        <label key={choice.value} class="p-form-switch" title={choice.description}>
          <input
            type="checkbox"
            name={id}
            disabled={disabled}
            checked={picked.includes(choice.value)}
            onChange={(event) => {
              const rest = picked.filter((one) => one !== choice.value);
              onChange(event.currentTarget.checked ? [...rest, choice.value] : rest);
            }}
          />
          {choice.name === "" ? choice.value : choice.name}
        </label>
      ))}
    </div>
  );
}

function describers({ id, field, problem }: FieldProps): string | undefined {
  const ids = [field.description === "" ? "" : `${id}-about`, problem === "" ? "" : `${id}-problem`];
  const named = ids.filter((one) => one !== "").join(" ");
  return named === "" ? undefined : named;
}

/** A few choices of which one must be taken are seen at once. */
const FEW_CHOICES = 5;

export function isRadioGroup({ type, required, choices }: QuestionField): boolean {
  return type === "choice" && required && choices.length <= FEW_CHOICES;
}

/** A string that may have so many characters, or has lines already, gets room for several lines. */
const LONG_TEXT = 200;

export function isLongText(field: QuestionField): boolean {
  if (field.type !== "string" || field.format !== "" || isSecret(field)) return false;
  return (field.maximum ?? 0) >= LONG_TEXT || (field.defaultJson ?? "").includes("\\n");
}

function isSecret({ secret, format }: QuestionField): boolean {
  return secret || format === "password";
}

/** To the types of the page every kind of input is a thing of its own; to the browser they are one. */
function inputType(field: QuestionField): string {
  if (isSecret(field)) return "password";
  if (field.type === "number" || field.type === "integer") return "number";
  switch (field.format) {
    case "email":
      return "email";
    case "uri":
      return "url";
    case "date":
      return "date";
    case "date-time":
      return "datetime-local";
    default:
      return "text";
  }
}
