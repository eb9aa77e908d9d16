// Board of sessions: all sessions of all agents, by what they need.

import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useEffect, useMemo } from "preact/hooks";
import { BoardGroup, type BoardCard } from "../../generated/portico/v1/agent_pb";
import { changedAt } from "../../model/session-summary";
import { denyingOption, onceOption } from "../cards/permission-labels";
import { FormProblem } from "../form";
import type { AppModel } from "../shell/app-model";
import { ago } from "../shell/relative-time";
import { turnStateLabel } from "../shell/turn-state";
import { BoardModel, GROUPS } from "./board-model";
import { money, tokenCount } from "./money";

const MOST_DONE = 20;

interface BoardProps {
  readonly app: AppModel;
  readonly onOpen: (sessionId: string, review: boolean) => void;
}

export function Board({ app, onOpen }: BoardProps) {
  const board = useMemo(() => new BoardModel(app.gateway), [app]);
  useEffect(() => board.open(), [board]);
  const cards = board.cards.value;
  return (
    <>
      <FormProblem text={board.problem.value} />
      <div class="p-board">
        {GROUPS.map(([group, title, name]) => {
          const own = cards.filter((card) => card.group === group);
          const shown = group === BoardGroup.DONE ? newestFirst(own).slice(0, MOST_DONE) : own;
          return (
            <section key={name} class={`p-board-group p-board-${name}`} aria-label={title}>
              <h3>
                {title} <span>{own.length}</span>
              </h3>
              <ul>
                {shown.map((card) => (
                  <Card key={card.summary?.sessionId} card={card} board={board} onOpen={onOpen} />
                ))}
              </ul>
            </section>
          );
        })}
      </div>
    </>
  );
}

function Card({ card, board, onOpen }: { card: BoardCard; board: BoardModel } & Pick<BoardProps, "onOpen">) {
  const { summary, permissions, lastLine, group } = card;
  if (summary === undefined) return null;
  const [request] = permissions;
  // Requests with risks are opened in their session.
  const isRisky = request !== undefined && request.risks.length > 0;
  const once = request && !isRisky ? onceOption(request) : undefined;
  const reject = request && denyingOption(request);
  const waits = !board.settled.value;
  const answer = (optionId: string) => () => void board.answer(card, request?.requestId ?? "", optionId);
  return (
    <li class="p-board-card">
      <button type="button" class="p-board-title" onClick={() => onOpen(summary.sessionId, false)}>
        {summary.title === "" ? "New session" : summary.title}
      </button>
      <p class="p-board-line" dir="auto">
        {request?.title ?? lastLine}
      </p>
      <div class="p-board-facts">{facts(card).join(" · ")}</div>
      {(request !== undefined || group === BoardGroup.TO_REVIEW) && (
        <div class="p-board-actions">
          {once && (
            <button
              type="button"
              class="p-button p-button-main"
              disabled={waits}
              onClick={answer(once.optionId)}
            >
              Allow once
            </button>
          )}
          {isRisky && (
            <button
              type="button"
              class="p-button p-button-main"
              onClick={() => onOpen(summary.sessionId, false)}
            >
              Open to decide
            </button>
          )}
          {reject && (
            <button type="button" class="p-button" disabled={waits} onClick={answer(reject.optionId)}>
              Reject
            </button>
          )}
          {group === BoardGroup.TO_REVIEW && (
            <button type="button" class="p-button" onClick={() => onOpen(summary.sessionId, true)}>
              Review
            </button>
          )}
        </div>
      )}
    </li>
  );
}

function facts({ summary, group, files, added, removed, cost, currency, tokens }: BoardCard): string[] {
  if (summary === undefined) return [];
  const size = files === 1 ? "1 file" : `${files} files`;
  const price =
    cost === undefined ? (tokens > 0n ? `${tokenCount(Number(tokens))} tokens` : "") : money(cost, currency);
  return [
    summary.agent,
    ago(summary.updatedAt === undefined ? new Date() : timestampDate(summary.updatedAt), new Date()),
    group === BoardGroup.DONE ? turnStateLabel(summary.state) : "",
    files > 0 ? `${size} +${added} −${removed}` : "",
    price,
    summary.workspace.split(/[\\/]/).at(-1) ?? "",
  ].filter((fact) => fact !== "");
}

function newestFirst(cards: readonly BoardCard[]): BoardCard[] {
  const when = (card: BoardCard): number => (card.summary === undefined ? 0 : changedAt(card.summary));
  return cards.toSorted((one, other) => when(other) - when(one));
}
