"""AgentService methods over all sessions at once: the board, and what sessions cost."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

from portico.api.fields import one_of, read_enum, to_enum
from portico.api.v1 import agent_pb as pb
from portico.api.value_reader import from_time
from portico.domain.costs import SpendingTotal, total_spending
from portico.doors.api.event_messages import to_permission, to_question
from portico.doors.api.prompt_calls import PromptCalls
from portico.doors.api.session_calls import Context
from portico.doors.api.session_messages import to_summary
from portico.doors.api.streams import merge_streams
from portico.sessions.board import BoardCard, SessionBoard
from portico.sessions.session_list import RemovedSession


class BoardCalls(PromptCalls):
    async def watch_board(
        self, request: pb.WatchBoardRequest, _: Context, /
    ) -> AsyncIterator[pb.WatchBoardResponse]:
        board = SessionBoard(self._list, self._store, self._reviews)
        changes = board.watch(workspace=request.workspace or None)
        async with aclosing(merge_streams(changes, closing=self._closing)) as stream:
            async for change in stream:
                if change is None:
                    yield pb.WatchBoardResponse(change=one_of("heartbeat", pb.Heartbeat()))
                elif isinstance(change, RemovedSession):
                    yield pb.WatchBoardResponse(change=one_of("removed_session_id", change.session_id))
                else:
                    yield pb.WatchBoardResponse(change=one_of("changed", _to_card(change)))

    async def get_costs(self, request: pb.GetCostsRequest, _: Context, /) -> pb.GetCostsResponse:
        found = await self._store.spending(since_ms=from_time(request.since))
        return pb.GetCostsResponse(
            totals=_to_totals(total_spending(found, read_enum(request.by) or "day")),
            whole=_to_totals(total_spending(found, "all")),
        )


def _to_card(card: BoardCard) -> pb.BoardCard:
    message = pb.BoardCard(
        summary=to_summary(card.entry),
        group=to_enum(pb.BoardGroup, card.group),
        last_line=card.last_line,
        currency=card.currency,
        tokens=card.tokens,
        files=card.changes.files,
        added=card.changes.added,
        removed=card.changes.removed,
        permissions=[to_permission(one) for one in card.permissions],
        questions=[to_question(one) for one in card.questions],
    )
    if card.cost is not None:
        message.cost = card.cost
    return message


def _to_totals(totals: Sequence[SpendingTotal]) -> list[pb.CostTotal]:
    messages = []
    for one in totals:
        message = pb.CostTotal(
            name=one.name,
            title=one.title,
            currency=one.currency,
            input_tokens=one.input_tokens,
            output_tokens=one.output_tokens,
            sessions=one.sessions,
        )
        if one.cost is not None:
            message.cost = one.cost
        messages.append(message)
    return messages
