"""Lines of NAME=value, with comments after #."""

import re

_NAME = re.compile(r"[A-Za-z_]\w*\Z")


class EnvError(ValueError):
    def __init__(self, line, words):
        super().__init__(f"line {line}: {words}")
        self.line = line


def parse(text):
    values = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        name, equals, value = line.removeprefix("export ").partition("=")
        name = name.strip()
        if not equals or not _NAME.match(name):
            raise EnvError(number, "expected NAME=value")
        values[name] = value.strip()
    return values
