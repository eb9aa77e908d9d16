"""Counts the lines of files."""

from dataclasses import dataclass

LARGEST = 1_000_000


@dataclass(frozen=True)
class ScanResult:
    """The names that were read, the number of lines, the names that were too large, and those that are not text."""

    files: list
    lines: int
    skipped: list
    errors: list


def scan(sources):
    """Count the lines of sources, given as a dict of name and bytes."""
    files, lines, skipped, errors = [], 0, [], []
    for name in sorted(sources):
        content = sources[name]
        if len(content) > LARGEST:
            skipped.append(name)
            continue
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            errors.append(name)
            continue
        files.append(name)
        lines += len(text.splitlines())
    return ScanResult(files, lines, skipped, errors)
