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
    """Do what the words after the command say. A prompt, if that is for the agent to do."""
    said = _split(words)
    if said[:1] == ["diff"]:
        said = ["show", "--diff", *said[1:]]
    if said[:1] == ["revise"] and not any(word.startswith("--") for word in said):
        said = ["revise", "--comment", " ".join(said[1:])]
    try:
        flags = parse([*(said or ["show"]), "--session", session_id, "--yes"])
    except SystemExit:  # argparse has printed the help that was asked for
        return None
    session = await host.service.show(session_id)
    reviewed = ReviewTarget(session=session, desk=await reviews_of(host, session, environ))
    if flags.action == "revise":
        return await revision_prompt(flags, reviewed)
    await act(flags, reviewed, ReviewPrinter(environ.get("TERM", "")))
    return None


def _split(words: str) -> list[str]:
    try:
        return shlex.split(words)
    except ValueError as error:
        raise InvalidInput(f"/proposal {words}: a quote is not closed.") from error
