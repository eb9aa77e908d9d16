"""Free text that a slash command answers exactly, such as "where is parse_config defined?"."""

import re

import msgspec

_LONGEST = 200
_NAME = r"(?:the\s+)?(?:class\s+|function\s+|method\s+|constant\s+|type\s+)?[`'\"]?(?P<argument>[A-Za-z_$][\w$]*(?:(?:\.|::)[\w$]+)*)(?:\(\))?[`'\"]?"
_TESTS = r"(?:all\s+)?(?:(?:the|my|our|its)\s+)?(?:unit\s+)?tests"
_PHRASES = tuple(
    (command, re.compile(rf"(?:please\s+)?(?:{pattern})(?:\s+please)?\s*[?.!]*", re.IGNORECASE))
    for command, pattern in (
        ("explain", rf"where(?:\s+is|'s)\s+{_NAME}\s+(?:defined|declared|implemented|used|called)"),
        (
            "explain",
            rf"(?:find|show)\s+(?:me\s+)?(?:the\s+)?(?:definition|uses|usages|references)\s+(?:of|to)\s+{_NAME}",
        ),
        ("explain", rf"(?:who|what)\s+(?:uses|calls)\s+{_NAME}"),
        ("test", rf"(?:can\s+you\s+)?(?:re-?)?run\s+{_TESTS}(?:\s+again)?"),
        ("test", rf"do\s+{_TESTS}\s+(?:still\s+)?pass"),
        (
            "changes",
            r"what(?:\s+has|'s|\s+have\s+I|\s+did\s+I)?\s+changed?(?:\s+(?:here|so\s+far|since\s+the\s+last\s+commit))?",
        ),
        ("changes", r"show\s+(?:me\s+)?(?:the|my)\s+(?:changes|diff)"),
        ("search", r"(?:search|grep)\s+(?:for\s+)?(?P<argument>\"[^\"]+\"|'[^']+'|`[^`]+`|[\w.$-]+)"),
    )
)


class CommandPhrase(msgspec.Struct, frozen=True):
    """The command that answers a text, and its argument."""

    command: str
    argument: str = ""

    def __str__(self) -> str:
        return f"/{self.command} {self.argument}".rstrip()


def command_for(text: str) -> CommandPhrase | None:
    """Return the command that answers the whole of a text; None if there is none."""
    plain = " ".join(text.split())
    if len(text) > _LONGEST:
        return None
    for command, pattern in _PHRASES:
        if found := pattern.fullmatch(plain):
            argument = found.groupdict().get("argument") or ""
            return CommandPhrase(command, f'"{argument[1:-1]}"' if argument.startswith("`") else argument)
    return None
