"""What people are told about a scan."""

from scanner.scan import scan


def summary(sources):
    found = scan(sources)
    words = [f"{found.lines} lines in {len(found.files)} files"]
    if found.skipped:
        words.append(f"{len(found.skipped)} too large")
    if found.errors:
        words.append(f"not text: {', '.join(found.errors)}")
    return "; ".join(words)


def average(sources):
    found = scan(sources)
    return found.lines / len(found.files) if found.files else 0.0
