"""One turn of a session: text, tool calls, permission requests, questions, files and terminals.

Everything shown is written to the transcript first, so that a loaded session is complete.
"""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from portico.acp import _schema as schema
from portico.acp.agent import AgentSideConnection
from portico.acp.extensions import PROPOSE_CHANGES, KeptProposal
from portico.domain import codecs
from portico.domain.errors import PermissionDenied
from portico.porter.files import SessionFiles
from portico.porter.markdown import chunks, strip_surrogates
from portico.porter.models.model import ModelText, UserMessage
from portico.porter.prompt import PromptAttachment
from portico.porter.session import PorterSession
from portico.porter.terminals import CommandResult, RunningCommand, run_to_end
from portico.porter.tool_call import ToolCallDetails, ToolCallReport
from portico.porter.transcript import ChecklistItem, UpdateEntry
from portico.porter.workspace import Workspace
from portico.rpc.messages import RpcError

_REMEMBERED = 3000
_ALLOW_ONCE, _ALLOW_ALWAYS, _REJECT_ONCE = "allow-once", "allow-always", "reject-once"


class PorterTurn:
    def __init__(
        self,
        end: AgentSideConnection,
        session: PorterSession,
        attached: tuple[PromptAttachment, ...],
        environ: Mapping[str, str],
    ) -> None:
        self._end = end
        self._session = session
        self._spoke = False
        self._said: list[str] = []
        self.attached = attached
        self.environ = environ

    @property
    def session(self) -> PorterSession:
        return self._session

    @property
    def workspace(self) -> Workspace:
        return self._session.workspace

    @property
    def files(self) -> SessionFiles:
        return self._session.files

    @property
    def plan(self) -> tuple[ChecklistItem, ...]:
        return self._session.plan

    @property
    def todos(self) -> tuple[ChecklistItem, ...]:
        return self._session.todos

    async def say(self, block: str) -> None:
        """Send a block of Markdown in chunks, no faster than the client reads."""
        text = strip_surrogates(("\n\n" if self._spoke else "") + block.rstrip("\n"))
        self._spoke = True
        self._said.append(text)
        self._keep(schema.AgentMessageChunk(content=schema.TextContent(text=text)))
        for piece in chunks(text):
            self._tell(schema.AgentMessageChunk(content=schema.TextContent(text=piece)))
            await self._end.drain()

    async def stream_text(self, text: str, *, begins: bool) -> None:
        """Send a chunk of an answer; the first one (`begins`) starts a new paragraph."""
        piece = strip_surrogates(("\n\n" if begins and self._spoke else "") + text)
        self._spoke = True
        self.send_update(schema.AgentMessageChunk(content=schema.TextContent(text=piece)))
        await self._end.drain()

    async def stream_thought(self, text: str) -> None:
        await self.think(text)

    def notice(self, title: str, description: str | None = None, *, severity: str = "info") -> None:
        """Send a notice, which is not part of the answer."""
        self.send_update(
            schema.Notice(
                severity=severity,
                title=strip_surrogates(title),
                description=None if description is None else strip_surrogates(description),
            )
        )

    def notice_once(self, title: str, description: str) -> None:
        """Send a notice once in a session, across restarts too."""
        if title not in self._session.noticed:
            self._session.noticed.add(title)
            self.notice(title, description)

    def send_update(self, update: schema.SessionUpdate) -> None:
        """Store an update and send it."""
        self._keep(update)
        self._tell(update)

    async def think(self, text: str) -> None:
        """Send a thought."""
        self.send_update(schema.AgentThoughtChunk(content=schema.TextContent(text=strip_surrogates(text))))
        await self._end.drain()

    def tool(self, work: ToolCallDetails) -> ToolCallReport:
        """Create a tool call; use it as an asynchronous context."""
        return ToolCallReport(self._session.next_call_id(), work, self._tell, self._keep)

    async def permit(self, call: ToolCallReport, scope: str, *, covers: str | None, otherwise: str) -> None:
        """Ask for permission. Raises PermissionDenied with the message `otherwise` if the user declines.

        A grant for the whole session covers later calls of the same kind and scope; `covers` describes them. Without
        `covers` no such grant is offered.
        """
        grant = (call.work.kind, scope)
        if grant not in self._session.granted:
            chosen = await self._ask(call, covers)
            if chosen == _ALLOW_ALWAYS and covers is not None:
                self._session.granted.add(grant)
            elif chosen != _ALLOW_ONCE:
                raise PermissionDenied(otherwise)
        call.proceed()

    async def propose(self, changes: Sequence[Mapping[str, str | None]]) -> KeptProposal:
        """Have changes kept as a proposal. RpcError, with words for the model, if they cannot be proposed."""
        asked = {"sessionId": self._session.id, "changes": changes}
        return codecs.decode_json(await self._end.call_extension(PROPOSE_CHANGES, asked), KeptProposal)

    async def run(self, command: Sequence[str], line: str, *, otherwise: str) -> CommandResult:
        """Run a command in the session's folder after asking, and show its output as it arrives.

        `line` is the command line to show. Raises PermissionDenied with the message `otherwise` if the user declines.
        """
        raw_input = {"command": line, "cwd": str(self.workspace.root)}
        async with self.tool(
            ToolCallDetails(title=line, kind="execute", raw_input=raw_input, waits=True)
        ) as call:
            await self.permit(call, line, covers=f"“{line}”", otherwise=otherwise)
            ended = await run_to_end(self._session.terminals, command, self.workspace.root, call.show)
            call.ran(ended)
        return ended

    async def start(self, command: Sequence[str], call: ToolCallReport) -> RunningCommand:
        """Start a permitted command and show its output in the call. The caller must stop it."""
        return await self._session.terminals.start(command, self.workspace.root, call.show)

    async def ask_person(
        self, call: ToolCallReport, question: str, choices: Sequence[tuple[str, str]]
    ) -> str | None:
        """Ask the user a question. Returns None if they do not answer, or the client cannot ask."""
        field = schema.ElicitationPropertySchema(type="string", title="Answer")
        if choices:
            options = [
                schema.EnumOption(const=label, title=label, description=about or None)
                for label, about in choices
            ]
            field = msgspec.structs.replace(field, one_of=options)
        form = schema.ElicitationSchema(properties={"answer": field}, required=["answer"])
        given = await self.ask_form(call, question, form)
        answer = (given.content or {}).get("answer") if given.action == "accept" else None
        return str(answer) if answer is not None else None

    async def ask_form(
        self, call: ToolCallReport, question: str, form: schema.ElicitationSchema
    ) -> schema.CreateElicitationResponse:
        """Show a form to the user. Returns `cancel` if the client cannot show it."""
        if not self._session.can_ask:
            return schema.CreateElicitationResponse(action="cancel")
        request = schema.CreateElicitationRequest(
            mode="form",
            session_id=self._session.id,
            tool_call_id=call.id,
            message=strip_surrogates(question),
            requested_schema=form,
        )
        try:
            return await self._end.call("elicitation/create", request, schema.CreateElicitationResponse)
        except RpcError:
            return schema.CreateElicitationResponse(action="cancel")

    def remember(self, command: str) -> None:
        """Add a command and its answer to the model's history."""
        said = "".join(self._said)
        answer = said if len(said) <= _REMEMBERED else f"{said[:_REMEMBERED]}\n[…]"
        text = f"[The user ran Porter's command {command[:500]!r}, and Porter answered:]\n\n{answer}"
        self._session.history.add(UserMessage((ModelText(strip_surrogates(text)),)))

    def new_id(self) -> str:
        """Return an id that is unique in this session."""
        return self._session.next_call_id()

    def set_plan(self, steps: tuple[ChecklistItem, ...]) -> None:
        self._session.set_lists(plan=steps)
        self.show_plan()

    def set_todos(self, todos: tuple[ChecklistItem, ...]) -> None:
        self._session.set_lists(todos=todos)
        self.show_plan()

    def show_plan(self) -> None:
        self.send_update(self._session.as_plan())

    async def _ask(self, call: ToolCallReport, covers: str | None) -> str:
        always = schema.PermissionOption(
            option_id=_ALLOW_ALWAYS,
            name=strip_surrogates(f"Allow {covers} for this session"),
            kind="allow_always",
        )
        request = schema.RequestPermissionRequest(
            session_id=self._session.id,
            tool_call=call.as_request(),
            options=[
                schema.PermissionOption(option_id=_ALLOW_ONCE, name="Allow once", kind="allow_once"),
                *([] if covers is None else [always]),
                schema.PermissionOption(option_id=_REJECT_ONCE, name="Reject", kind="reject_once"),
            ],
        )
        try:
            outcome = (await self._end.request_permission(request)).outcome
        except RpcError as error:
            raise PermissionDenied(
                f"Permission could not be requested ({error.reason}), so nothing was done."
            ) from error
        if isinstance(outcome, schema.CancelledPermissionOutcome):
            # With this outcome the client cancels the whole turn.
            raise asyncio.CancelledError
        return outcome.option_id

    def _tell(self, update: schema.SessionUpdate) -> None:
        self._end.update(self._session.id, update)

    def _keep(self, update: schema.SessionUpdate) -> None:
        self._session.transcript.append(UpdateEntry(update=update))
