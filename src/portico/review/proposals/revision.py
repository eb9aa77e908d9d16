"""Prompt that asks the agent to revise the changes the person did not take."""

from portico.domain.errors import InvalidInput
from portico.review.text.change_set import ChangeSet
from portico.review.text.lines import read_text
from portico.review.text.patch import unified_patch

_PATCH_BYTES = 32 * 1024
_NAMED_FILES = 200


def revision_prompt(rejected: ChangeSet, comment: str = "") -> str:
    """The prompt. The rejected changes, with their contents, stand in it as a patch as far as it is short."""
    said = comment.strip()
    if not rejected.changes and not said:
        raise InvalidInput(
            "There is nothing to revise.",
            suggestion="Choose what to reject, or say what should be different.",
        )
    parts = ["Please revise the changes that you proposed."]
    if said:
        parts.append(said)
    if rejected.changes:
        parts.append("I have not accepted these of them; replace them, or leave them out:")
        parts.append(_patches(rejected))
        parts.append("Leave all your other changes as they are.")
    return "\n\n".join(parts)


def _patches(rejected: ChangeSet) -> str:
    shown: list[str] = []
    named: list[str] = []
    left = _PATCH_BYTES
    for change in rejected.changes:
        patch = unified_patch(change)
        text = read_text(patch)
        if text is None or len(patch) > left:
            named.append(f"- {change.operation} {change.path}")
            continue
        left -= len(patch)
        shown.append(text.content)
    written = [_fenced("".join(shown))] if shown else []
    if named:
        more = [f"- and {len(named) - _NAMED_FILES} more"] if len(named) > _NAMED_FILES else []
        written.append("\n".join([*named[:_NAMED_FILES], *more]))
    return "\n\n".join(written)


def _fenced(patch: str) -> str:
    """The patch in a fence that nothing in it can close."""
    fence = "```"
    while fence in patch:
        fence += "`"
    return f"{fence}diff\n{patch.rstrip()}\n{fence}"
