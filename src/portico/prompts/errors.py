"""The error of a file that is not a valid prompt, with its line."""


class InvalidPrompt(Exception):
    """The file is not a valid prompt; `line` counts from 1, if the problem has a line."""

    def __init__(self, why: str, line: int | None = None) -> None:
        super().__init__(why)
        self.why = why if line is None else f"line {line}: {why}"
        self.line = line
