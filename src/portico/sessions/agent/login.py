"""Login and logout of an agent by the methods that it offers.

Some methods are a program that the person runs in a terminal. Those are only described here.
"""

from collections.abc import Awaitable, Callable

import msgspec

from portico.acp import _schema as acp
from portico.domain.errors import InvalidInput
from portico.domain.events import QuestionAsked
from portico.rpc.messages import ConnectionLost, RpcError
from portico.sessions.agent.connection import AgentConnection
from portico.sessions.requests import elicitation
from portico.sessions.requests.questions import DECLINED, QuestionAnswer, check_answer

AskPerson = Callable[[QuestionAsked], Awaitable[QuestionAnswer]]


class SignInMethod(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A login method. One with a `command` is a program for the person to run, with `env` added."""

    method_id: str
    name: str
    description: str | None = None
    command: tuple[str, ...] = ()
    env: dict[str, str] = {}


class AgentLogin:
    """Login methods of one running agent."""

    def __init__(self, connection: AgentConnection) -> None:
        self._connection = connection
        self.agent = connection.spec.name
        self.methods = tuple(self._method(method) for method in connection.info.auth_methods)

    def method(self, method_id: str | None) -> SignInMethod:
        """The method by id or name, or the only one. InvalidInput, listing the methods, if there is no such one."""
        found = [one for one in self.methods if method_id in (None, one.method_id)]
        found = found or [one for one in self.methods if method_id == one.name]
        if len(found) == 1:
            return found[0]
        if not self.methods:
            raise InvalidInput(
                f"The agent {self.agent} has no login method.",
                suggestion="If it needs one, use its own login command.",
            )
        ways = "; ".join(f"{one.method_id} ({one.name})" for one in self.methods)
        if method_id is None:
            raise InvalidInput(
                f"The agent {self.agent} has several login methods: {ways}.",
                suggestion="Choose one with --method.",
            )
        raise InvalidInput(
            f"Unknown login method {method_id!r} of the agent {self.agent}. Available: {ways}."
        )

    async def authenticate(self, method: SignInMethod, ask: AskPerson | None = None) -> None:
        """Log in, without a time limit. `ask` answers questions of the agent meanwhile."""
        if method.command:
            raise InvalidInput(
                f"To sign in to {self.agent} with {method.name}, run {' '.join(method.command)}."
            )
        if ask is not None:
            self._connection.login_question_handler = _question_handler(ask)
        try:
            await self._connection.end.authenticate(acp.AuthenticateRequest(method_id=method.method_id))
        except (RpcError, ConnectionLost) as error:
            raise await self._connection.explain(error) from error
        finally:
            self._connection.clear_login_handler()

    async def logout(self) -> None:
        if self._connection.info.agent_capabilities.auth.logout is None:
            raise InvalidInput(
                f"The agent {self.agent} does not support logout.",
                suggestion="Sign out with its own program.",
            )
        try:
            await self._connection.end.logout()
        except (RpcError, ConnectionLost) as error:
            raise await self._connection.explain(error) from error

    def _method(self, method: acp.AuthMethod) -> SignInMethod:
        in_terminal = method.type == "terminal"
        return SignInMethod(
            method_id=method.id,
            name=method.name,
            description=method.description,
            command=(*self._connection.spec.command, *(method.args or ())) if in_terminal else (),
            env={**self._connection.spec.env, **(method.env or {})} if in_terminal else {},
        )


def _question_handler(
    ask: AskPerson,
) -> Callable[[acp.CreateElicitationRequest], Awaitable[acp.CreateElicitationResponse]]:
    async def answer(request: acp.CreateElicitationRequest) -> acp.CreateElicitationResponse:
        question = elicitation.question_asked("sign-in", request)
        if question is None:
            return acp.CreateElicitationResponse(action=DECLINED.action)
        return elicitation.answer_to_agent(question, check_answer(question, await ask(question)))

    return answer
