// Values of a question's form: defaults, validation and content.

import type { QuestionField } from "../../generated/portico/v1/events_pb";
import { parseJson } from "../../model/json";

/** The value of a field: text, a switch, or the selected values. */
export type FieldValue = string | boolean | readonly string[];
export type FormValues = Readonly<Record<string, FieldValue>>;

export function firstValues(fields: readonly QuestionField[]): FormValues {
  return Object.fromEntries(fields.map((field) => [field.name, firstValue(field)]));
}

function firstValue(field: QuestionField): FieldValue {
  const given = parseJson(field.defaultJson);
  if (field.type === "boolean") return given === true;
  if (field.type === "choices") return Array.isArray(given) ? given.map(String) : [];
  if (typeof given === "string") return field.format === "date-time" ? localMoment(given) : given;
  return typeof given === "number" ? String(given) : "";
}

/** Errors by field name; empty if the form can be sent. */
export function problemsOf(
  fields: readonly QuestionField[],
  values: FormValues,
): Readonly<Record<string, string>> {
  const problems: Record<string, string> = {};
  for (const field of fields) {
    const problem = problemOf(field, values[field.name] ?? "");
    if (problem !== "") problems[field.name] = problem;
  }
  return problems;
}

function problemOf(field: QuestionField, value: FieldValue): string {
  if (typeof value === "boolean") return "";
  if (value.length === 0) return field.required ? missingText(field) : "";
  if (typeof value !== "string") return countProblem(field, value.length);
  if (field.type === "number" || field.type === "integer") return numberProblem(field, value);
  return textProblem(field, value);
}

function missingText({ type }: QuestionField): string {
  return type === "choice" || type === "choices" ? "Choose one." : "Required.";
}

function countProblem({ minimum, maximum }: QuestionField, count: number): string {
  if (minimum !== undefined && count < minimum) return `Choose at least ${minimum}.`;
  if (maximum !== undefined && count > maximum) return `Choose at most ${maximum}.`;
  return "";
}

function numberProblem({ type, minimum, maximum }: QuestionField, value: string): string {
  const number = Number(value);
  if (!Number.isFinite(number)) return "Enter a number.";
  if (type === "integer" && !Number.isInteger(number)) return "Enter a whole number.";
  if (minimum !== undefined && number < minimum) return `Must be at least ${minimum}.`;
  if (maximum !== undefined && number > maximum) return `Must be at most ${maximum}.`;
  return "";
}

function textProblem({ format, pattern, minimum, maximum }: QuestionField, value: string): string {
  if (minimum !== undefined && value.length < minimum) return `Enter at least ${minimum} characters.`;
  if (maximum !== undefined && value.length > maximum) return `Enter at most ${maximum} characters.`;
  if (format === "email" && !/^[^@\s]+@[^@\s.]+(\.[^@\s.]+)+$/.test(value)) return "Enter an email address.";
  if (format === "uri" && !URL.canParse(value)) return "Enter a URL, such as https://example.com";
  return matches(pattern, value) ? "" : `Must match ${pattern}`;
}

/** A pattern that this browser cannot read passes; the server checks too. */
function matches(pattern: string, value: string): boolean {
  if (pattern === "") return true;
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}

/** The values as the agent's schema wants them; what was left empty is left out. */
export function contentOf(fields: readonly QuestionField[], values: FormValues): Record<string, unknown> {
  const content: Record<string, unknown> = {};
  for (const field of fields) {
    const value = values[field.name];
    if (value === undefined || value === "" || (Array.isArray(value) && value.length === 0)) continue;
    content[field.name] = typeof value === "string" ? typed(field, value) : value;
  }
  return content;
}

function typed({ type, format }: QuestionField, value: string): string | number {
  if (type === "number" || type === "integer") return Number(value);
  return format === "date-time" ? new Date(value).toISOString() : value;
}

/** A moment as a browser's own field for it wants it: the time here, without a zone. */
function localMoment(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
