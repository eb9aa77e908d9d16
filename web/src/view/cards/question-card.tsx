// A question of the agent: a form or a link, and the line it leaves behind.

import { useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
import {
  DecidedBy,
  QuestionAction,
  type QuestionAnswered,
  type QuestionAsked,
} from "../../generated/portico/v1/events_pb";
import { Prose } from "../../markdown/prose";
import type { QuestionItem } from "../../model/types";
import { keptSignal, type CardProps } from "./card";
import { RequestCard, RequestTrail } from "./request-card";
import { lazy } from "../lazy";
import { contentOf, firstValues, problemsOf } from "./question-form";
import { Form } from "../form";

const Field = lazy(() => import("./question-field").then((module) => module.Field));

export function QuestionCard(props: CardProps<QuestionItem>) {
  const { asked, answered, abandoned } = props.item;
  const answeredHere = useRef(false);
  if (answered !== undefined || abandoned) {
    return <QuestionTrail {...props} takesFocus={answeredHere.current} />;
  }
  const words = asked.title === "" ? asked.message : asked.title;
  const onAnswer = (): void => {
    answeredHere.current = true;
  };
  return (
    <RequestCard
      requestId={asked.requestId}
      label={`Question: ${words}`}
      icon={asked.url === "" ? "question" : "globe"}
      title={words}
    >
      {asked.title !== "" && asked.message !== "" && (
        <Prose text={asked.message} open={false} onLink={(url) => props.gateway.openLink(url)} />
      )}
      {asked.description !== "" && <p class="p-card-about p-soft">{asked.description}</p>}
      {asked.url === "" ? (
        <QuestionForm {...props} onAnswer={onAnswer} />
      ) : (
        <UrlQuestion {...props} onAnswer={onAnswer} />
      )}
    </RequestCard>
  );
}

interface AskProps extends CardProps<QuestionItem> {
  readonly onAnswer: () => void;
}

function QuestionForm({ item, session, onAnswer }: AskProps) {
  const { requestId, fields } = item.asked;
  const values = keptSignal(session, `question ${item.key}`, () => firstValues(fields));
  const checked = useSignal(false);
  const answering = useSignal(false);
  const id = useId();
  const problems = checked.value ? problemsOf(fields, values.value) : {};

  const send = async (): Promise<void> => {
    checked.value = true;
    const wrong = problemsOf(fields, values.peek());
    const first = fields.findIndex(({ name }) => wrong[name] !== undefined);
    if (first >= 0) {
      document.getElementById(`${id}-${first}`)?.focus();
      return;
    }
    await answer("accept");
  };
  const answer = async (action: "accept" | "decline"): Promise<void> => {
    answering.value = true;
    onAnswer();
    await session.reply(
      requestId,
      action,
      action === "accept" ? contentOf(fields, values.peek()) : undefined,
    );
    answering.value = false;
  };
  return (
    <Form
      onSubmit={() => {
        if (!answering.peek()) void send();
      }}
    >
      {fields.map((field, place) => (
        <Field
          key={field.name}
          id={`${id}-${place}`}
          field={field}
          value={values.value[field.name] ?? ""}
          problem={problems[field.name] ?? ""}
          disabled={answering.value}
          onChange={(value) => (values.value = { ...values.peek(), [field.name]: value })}
        />
      ))}
      <div class="p-card-actions">
        <button type="submit" class="p-button p-button-main" disabled={answering.value}>
          {fields.length === 0 ? "Yes" : "Send"}
        </button>
        <DeclineButton disabled={answering.value} act={() => void answer("decline")} />
      </div>
    </Form>
  );
}

function UrlQuestion({ item, session, gateway, onAnswer }: AskProps) {
  const { requestId, url } = item.asked;
  const answering = useSignal(false);
  const address = URL.canParse(url) ? new URL(url) : undefined;
  const safe = address?.protocol === "https:" || address?.protocol === "http:";
  const answer = async (action: "accept" | "decline"): Promise<void> => {
    answering.value = true;
    onAnswer();
    if (action === "accept") gateway.openLink(url);
    await session.reply(requestId, action);
    answering.value = false;
  };
  return (
    <>
      <p class="p-card-address">
        <span class="p-soft">The agent wants you to visit </span>
        <code class="p-rule">{url}</code>
      </p>
      {!safe && <p class="p-form-problem">Only http and https links can be opened.</p>}
      <div class="p-card-actions">
        <button
          type="button"
          class="p-button p-button-main"
          disabled={answering.value || !safe}
          onClick={() => void answer("accept")}
        >
          Open {safe ? address.host : "it"}
        </button>
        <DeclineButton disabled={answering.value} act={() => void answer("decline")} />
      </div>
    </>
  );
}

function DeclineButton({ disabled, act }: { readonly disabled: boolean; readonly act: () => void }) {
  return (
    <button type="button" class="p-button" disabled={disabled} onClick={act}>
      Decline
    </button>
  );
}

function QuestionTrail({
  item,
  session,
  takesFocus,
}: CardProps<QuestionItem> & { readonly takesFocus: boolean }) {
  const { asked, answered } = item;
  const given = answersGiven(asked, answered);
  return (
    <RequestTrail
      session={session}
      kept={[`question ${item.key}`]}
      takesFocus={takesFocus}
      accepted={answered?.action === QuestionAction.ACCEPT}
      text={
        <>
          {answerLabel(answered)}:{" "}
          <span class="p-trail-title">{asked.title === "" ? asked.message : asked.title}</span>
        </>
      }
      detailsLabel="Answers"
    >
      {given.length === 0 ? undefined : (
        <dl class="p-answers">
          {given.map(({ name, words }) => (
            <div key={name}>
              <dt class="p-soft">{name}</dt>
              <dd>{words}</dd>
            </div>
          ))}
        </dl>
      )}
    </RequestTrail>
  );
}

export function answerLabel(answered: QuestionAnswered | undefined): string {
  if (answered?.action === QuestionAction.ACCEPT) return "Answered";
  if (answered?.action !== QuestionAction.DECLINE) return "Not answered";
  return answered.by === DecidedBy.NOBODY ? "Declined: no one was there to answer" : "Declined";
}

/** The answers by field; a secret is shown only as given. */
export function answersGiven(
  asked: QuestionAsked,
  answered: QuestionAnswered | undefined,
): readonly { readonly name: string; readonly words: string }[] {
  if (answered === undefined) return [];
  const titles = new Map(
    asked.fields.map((field) => [field.name, field.title === "" ? field.name : field.title]),
  );
  const content = JSON.parse(answered.contentJson ?? "{}") as Record<string, unknown>;
  const said = Object.entries(content).map(([name, value]) => ({
    name: titles.get(name) ?? name,
    words: typeof value === "string" ? value : JSON.stringify(value),
  }));
  return [
    ...said,
    ...answered.withheld.map((name) => ({ name: titles.get(name) ?? name, words: "(not stored)" })),
  ];
}
