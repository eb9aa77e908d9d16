"""The chat command `/proposal`: shows, applies, discards, undoes and revises proposals."""

import shlex
from collections.abc import Mapping

from portico.app.host import Host
from portico.cli.review import act, parse, revision_prompt
from portico.cli.review_sessions import ReviewTarget, reviews_of
from portico.domain.errors import InvalidInput
from portico.domain.ids import SessionId
from portico.doors.terminal.review.printer import ReviewPrinter


async def run_proposal(
    words: str, host: Host, session_id: SessionId, environ: Mapping[str, str]
) -> str | None:
    """Run the command. Returns the prompt to send, if the agent is asked to revise."""
    arguments = _split(words)
    if arguments[:1] in (["diff"], ["problems"]):
        arguments = ["show", f"--{arguments[0]}", *arguments[1:]]
    if arguments[:1] == ["revise"] and not any(word.startswith("--") for word in arguments):
        arguments = ["revise", "--comment", " ".join(arguments[1:])]
    try:
        flags = parse(arguments or ["show"])
    except SystemExit:  # argparse has printed the help
        return None
    if flags.action == "show" and flags.session_name:
        raise InvalidInput(f"/proposal show does not take {flags.session_name}.")
    flags.session, flags.yes = session_id, True
    session = await host.service.show(session_id)
    reviews = await reviews_of(host, session, environ)
    reviewed = ReviewTarget(session=session, reviews=reviews, ports=host.ports)
    if flags.action == "revise":
        return await revision_prompt(flags, reviewed)
    await act(flags, reviewed, ReviewPrinter(environ.get("TERM", "")))
    return None


def _split(words: str) -> list[str]:
    try:
        return shlex.split(words)
    except ValueError as error:
        raise InvalidInput(f"/proposal {words}: a quote is not closed.") from error
