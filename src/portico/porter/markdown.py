"""Builds safe Markdown (inline code, fences, plurals) and splits text into chunks for streaming."""

import re
from collections.abc import Iterator
from pathlib import PurePath

CHUNK = 1200

_LANGUAGES = {
    ".bash": "bash", ".c": "c", ".cc": "cpp", ".cfg": "ini", ".cpp": "cpp", ".cs": "csharp", ".css": "css",
    ".cxx": "cpp", ".go": "go", ".h": "c", ".hpp": "cpp", ".html": "html", ".ini": "ini", ".java": "java",
    ".js": "javascript", ".json": "json", ".jsonc": "jsonc", ".jsx": "jsx", ".kt": "kotlin", ".md": "markdown",
    ".mjs": "javascript", ".php": "php", ".proto": "proto", ".py": "python", ".pyi": "python", ".rb": "ruby",
    ".rs": "rust", ".sh": "bash", ".sql": "sql", ".swift": "swift", ".toml": "toml", ".ts": "typescript",
    ".tsx": "tsx", ".xml": "xml", ".yaml": "yaml", ".yml": "yaml",
}  # fmt: skip
_LANGUAGES_BY_NAME = {"dockerfile": "dockerfile", "makefile": "makefile"}


def language_of(path: PurePath) -> str:
    """Return the language name of a file for code fences; empty if unknown."""
    return _LANGUAGES.get(path.suffix.lower()) or _LANGUAGES_BY_NAME.get(path.name.lower(), "")


def inline_code(text: str) -> str:
    """Format text as inline code on one line, even if it contains backticks."""
    flat = " ".join(text.split()) or " "
    fence = "`" * (_longest_run(flat) + 1)
    padding = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{padding}{flat}{padding}{fence}"


def code_block(text: str, language: str = "") -> str:
    """Format text as a code block, with a fence longer than any inside it."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def code_block_content(text: str) -> str | None:
    """Return the content of a text that is one code block; otherwise None."""
    lines = text.strip("\n").split("\n")
    opening = re.fullmatch(r"(`{3,}|~{3,})[^`]*", lines[0].rstrip())
    if opening is None or len(lines) < 2 or lines[-1].strip() != opening[1]:
        return None
    return "".join(f"{line}\n" for line in lines[1:-1])


def count(number: int, one: str, many: str | None = None) -> str:
    """Format a number with its noun: "1 match", "2 matches"."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def shortened(text: str, limit: int) -> str:
    """Return the first line of a text, cut to a length."""
    line = " ".join(text.strip().split("\n", 1)[0].split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def strip_surrogates(text: str) -> str:
    """Replace surrogates, which stand for undecodable bytes in file names."""
    return text.encode("utf-8", "replace").decode()


def chunks(text: str, size: int = CHUNK) -> Iterator[str]:
    """Split text into chunks of about `size` characters, at line ends if possible."""
    start = 0
    while start < len(text):
        end = min(start + size, len(text))
        if end < len(text):
            line_end = text.rfind("\n", start, end)
            end = line_end + 1 if line_end >= start else end
        yield text[start:end]
        start = end


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
