"""Completion in the chat line: commands and prompts after `/`, files after `@`."""

import re
from collections.abc import Callable, Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from portico.domain.values import AgentCommand
from portico.doors.terminal.input.chat_status import ChatStatus
from portico.doors.terminal.input.prompt_blanks import ChatPrompt
from portico.doors.terminal.input.workspace_files import WorkspaceFiles
from portico.doors.terminal.sanitizer import clean_line

_COMMAND = re.compile(r"/(\S*)\Z")
_OWN_COMMANDS = (
    AgentCommand(name="model", description="show or choose the model", hint="NAME"),
    AgentCommand(name="agent", description="list the agents, or start a session with one", hint="NAME"),
    AgentCommand(name="new", description="start another session"),
    AgentCommand(name="clear", description="start another session on a clean screen"),
    AgentCommand(name="sessions", description="list the sessions of this folder"),
    AgentCommand(name="resume", description="continue an earlier session", hint="NUMBER or ID"),
    AgentCommand(name="compact", description="continue with a summary of this session"),
    AgentCommand(name="options", description="show or change the agent's options", hint="NAME VALUE"),
    AgentCommand(
        name="components", description="show or switch components of this session", hint="NAME on|off"
    ),
    AgentCommand(
        name="proposal",
        description="show, apply or discard the proposal",
        hint="diff, problems, apply, discard",
    ),
    AgentCommand(name="tour", description="show the last tour step by step", hint="NUMBER, keep"),
    AgentCommand(name="handoff", description="continue with another agent", hint="AGENT"),
    AgentCommand(name="exit", description="exit; the session is kept"),
)
_FILE = re.compile(r"(?:\A|(?<=\s))@(\S*)\Z")


def is_completable(text: str) -> bool:
    """Whether the text before the cursor ends in something that can be completed."""
    return bool(_COMMAND.match(text) or _FILE.search(text))


class ChatCompleter(Completer):
    """Completer of commands, prompts and files, which are listed each time."""

    def __init__(
        self,
        status: Callable[[], ChatStatus],
        files: WorkspaceFiles,
        prompts: Callable[[], Iterable[ChatPrompt]],
    ) -> None:
        self._status = status
        self._files = files
        self._prompts = prompts

    def _commands(self) -> tuple[AgentCommand, ...]:
        """The commands of the agent, then those of the chat that it does not have."""
        theirs = self._status().commands
        names = {command.name.lstrip("/") for command in theirs}
        return (*theirs, *(command for command in _OWN_COMMANDS if command.name not in names))

    def named(self, text: str) -> ChatPrompt | None:
        """The prompt whose exact name was typed, unless a command has the same name."""
        typed = text.strip()
        if (found := _COMMAND.match(typed)) is None:
            return None
        if any(clean_line(command.name).lstrip("/") == found[1] for command in self._commands()):
            return None
        prompts = (prompt for prompt in self._prompts() if prompt.name == found[1])
        return next((prompt for prompt in prompts if prompt.text.strip() not in ("", typed)), None)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        text = document.text_before_cursor
        if found := _COMMAND.match(text):
            yield from _commands(found[1], self._commands())
            yield from _kept(found[1], self._prompts())
        elif found := _FILE.search(text):
            for path in self._files.matching(found[1]):
                shown = clean_line(path)
                mention = f'@"{shown}" ' if " " in shown else f"@{shown} "
                yield Completion(mention, start_position=-len(found[0]), display=shown)


def _commands(typed: str, commands: tuple[AgentCommand, ...]) -> Iterator[Completion]:
    """Commands whose name begins with what was typed, or else contains it."""
    named = [(clean_line(command.name).lstrip("/"), command) for command in commands]
    fitting = [pair for pair in named if pair[0].lower().startswith(typed.lower())]
    for name, command in fitting or [pair for pair in named if typed.lower() in pair[0].lower()]:
        hint = f"  {clean_line(command.hint)}" if command.hint else ""
        yield Completion(
            f"/{name} ",
            start_position=-len(typed) - 1,
            display=f"/{name}",
            display_meta=f"{clean_line(command.description)}{hint}",
        )


def _kept(typed: str, prompts: Iterable[ChatPrompt]) -> Iterator[Completion]:
    for prompt in prompts:
        if typed.lower() in prompt.name.lower():
            yield Completion(
                prompt.text,
                start_position=-len(typed) - 1,
                display=f"/{prompt.name}",
                display_meta=f"prompt  {clean_line(prompt.description)}".rstrip(),
            )
