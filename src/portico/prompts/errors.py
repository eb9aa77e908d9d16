"""The error of a file that is not a valid prompt, with its line."""


class InvalidPrompt(Exception):
    """The file cannot be used as a prompt; `line` counts from one, where there is a line to name."""

    def __init__(self, why: str, line: int | None = None) -> None:
        super().__init__(why)
        self.why = why if line is None else f"line {line}: {why}"
        self.line = line
