// A question of the agent: a form to fill in, or a page to visit; and the line it leaves behind.

import { useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import {
  DecidedBy,
  QuestionAction,
  type QuestionAnswered,
  type QuestionAsked,
} from "../../generated/portico/v1/events_pb";
import { Prose } from "../../markdown/prose";
import type { QuestionItem } from "../../model/types";
import { discardKept, keptSignal, type CardProps } from "./card";
import { Disclosure } from "./disclosure";
import { cardId } from "./permission-card";
import { Field } from "./question-field";
import { contentOf, firstValues, problemsOf } from "./question-form";

export function QuestionCard(props: CardProps<QuestionItem>) {
  const { asked, answered, abandoned } = props.item;
  const answeredHere = useRef(false);
  if (answered !== undefined || abandoned) {
    return <QuestionTrail {...props} asked={asked} answered={answered} takesFocus={answeredHere.current} />;
  }
  const words = asked.title === "" ? asked.message : asked.title;
  const onAnswer = (): void => {
    answeredHere.current = true;
  };
  return (
    <div
      id={cardId(asked.requestId)}
      class="p-card p-card-asks"
      role="group"
      tabIndex={0}
      aria-label={`Question: ${words}`}
    >
      <p class="p-card-title">
        <i class={`codicon codicon-${asked.url === "" ? "question" : "globe"}`} aria-hidden="true" />
        <span class="p-card-words">{words}</span>
      </p>
      {asked.title !== "" && asked.message !== "" && (
        <Prose text={asked.message} open={false} onLink={(url) => props.gateway.openLink(url)} />
      )}
      {asked.description !== "" && <p class="p-card-about p-soft">{asked.description}</p>}
      {asked.url === "" ? (
        <QuestionForm {...props} onAnswer={onAnswer} />
      ) : (
        <UrlQuestion {...props} onAnswer={onAnswer} />
      )}
    </div>
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
    <form
      class="p-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
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
        <button
          type="button"
          class="p-button"
          disabled={answering.value}
          onClick={() => void answer("decline")}
        >
          Decline
        </button>
      </div>
    </form>
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
      {!safe && (
        <p class="p-form-problem">This is not an address of the web, so it cannot be opened from here.</p>
      )}
      <div class="p-card-actions">
        <button
          type="button"
          class="p-button p-button-main"
          disabled={answering.value || !safe}
          onClick={() => void answer("accept")}
        >
          Open {safe ? address.host : "it"}
        </button>
        <button
          type="button"
          class="p-button"
          disabled={answering.value}
          onClick={() => void answer("decline")}
        >
          Decline
        </button>
      </div>
    </>
  );
}

interface TrailProps extends CardProps<QuestionItem> {
  readonly asked: QuestionAsked;
  readonly answered: QuestionAnswered | undefined;
  readonly takesFocus: boolean;
}

function QuestionTrail({ item, session, asked, answered, takesFocus }: TrailProps) {
  const line = useRef<HTMLDivElement>(null);
  useEffect(() => {
    discardKept(session, `question ${item.key}`);
    if (takesFocus) line.current?.focus({ preventScroll: true });
  }, []);
  const given = answersGiven(asked, answered);
  const done = answered?.action === QuestionAction.ACCEPT;
  const words = (
    <>
      <i class={`codicon codicon-${done ? "check p-good" : "circle-slash"}`} aria-hidden="true" />
      <span>
        {answerLabel(answered)}:{" "}
        <span class="p-trail-title">{asked.title === "" ? asked.message : asked.title}</span>
      </span>
    </>
  );
  return (
    <div ref={line} class="p-trail" tabIndex={-1}>
      {given.length === 0 ? (
        <div class="p-line">{words}</div>
      ) : (
        <Disclosure label="Answers" line={words}>
          <dl class="p-answers">
            {given.map(({ name, words: said }) => (
              <div key={name}>
                <dt class="p-soft">{name}</dt>
                <dd>{said}</dd>
              </div>
            ))}
          </dl>
        </Disclosure>
      )}
    </div>
  );
}

export function answerLabel(answered: QuestionAnswered | undefined): string {
  if (answered?.action === QuestionAction.ACCEPT) return "Answered";
  if (answered?.action !== QuestionAction.DECLINE) return "Not answered";
  return answered.by === DecidedBy.NOBODY ? "Declined, because nobody could be asked" : "Declined";
}

/** What was said, field by field; of a secret only that it was. */
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
    ...answered.withheld.map((name) => ({ name: titles.get(name) ?? name, words: "(not kept)" })),
  ];
}
