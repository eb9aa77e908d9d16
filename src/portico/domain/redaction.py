"""Makes foreign text fit for a message: one bounded line without escapes and secrets."""

import re
from collections.abc import Iterable

HIDDEN = "[hidden]"

_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROL = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
# A secret by its own look, or by the word before it; of the latter the word stays.
_SECRET = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|ghu|ghs|ghr|github_pat|glpat|xox[abprs]|hf|npm)[-_][\w-]{12,}"
    r"|\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{20,}|\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]+)?"
    r"|(?P<kept>\b(?:bearer|basic)\s+|://[^\s:/@]*:"
    r"|\b[\w-]*(?:api[-_ ]?key|token|secret|passw(?:or)?d|credential)[\w-]*[\"']?\s*[:=]\s*[\"']?)"
    r"[^\s\"',;@]{8,}",
    re.IGNORECASE,
)


def without_secrets(text: str, known: Iterable[str] = ()) -> str:
    """The text with what looks like a secret hidden, and every `known` one."""
    for secret in sorted(known, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return _SECRET.sub(lambda found: f"{found['kept'] or ''}{HIDDEN}", text)


def plain_line(text: str, limit: int) -> str:
    """The text on one line of at most `limit` characters, without escapes, controls and secrets."""
    # Cut first, generously: a pattern need not look through megabytes for what is not shown.
    plain = _CONTROL.sub("", _ESCAPE.sub("", text[: 8 * limit]))
    line = without_secrets(" ".join(plain.split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
