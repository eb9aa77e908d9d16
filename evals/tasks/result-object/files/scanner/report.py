"""What people are told about a scan."""

from scanner.scan import scan


def summary(sources):
    files, lines, skipped, errors = scan(sources)
    words = [f"{lines} lines in {len(files)} files"]
    if skipped:
        words.append(f"{len(skipped)} too large")
    if errors:
        words.append(f"not text: {', '.join(errors)}")
    return "; ".join(words)


def average(sources):
    found = scan(sources)
    return found[1] / len(found[0]) if found[0] else 0.0
