"""Lines of NAME=value, with comments after #."""

import re

_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"')
_SINGLE = re.compile(r"'([^']*)'")
_ESCAPES = {"n": "\n", '"': '"', "\\": "\\"}


class EnvError(ValueError):
    def __init__(self, line, words):
        super().__init__(f"line {line}: {words}")
        self.line = line


def parse(text):
    values = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, equals, value = line.removeprefix("export ").partition("=")
        name = name.strip()
        if not equals or not _NAME.match(name):
            raise EnvError(number, "expected NAME=value")
        values[name] = _value(value.strip(), number)
    return values


def _value(text, number):
    if text[:1] not in ('"', "'"):
        return text.partition("#")[0].strip()
    double = text.startswith('"')
    found = (_DOUBLE if double else _SINGLE).match(text)
    if found is None:
        raise EnvError(number, "the quote is never closed")
    return re.sub(r"\\(.)", lambda one: _ESCAPES.get(one[1], one[0]), found[1]) if double else found[1]
