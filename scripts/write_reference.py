"""Write docs/reference from the docstrings of the public packages, and from the cases of the conformance kit.

python -m scripts.write_reference            write the pages
python -m scripts.write_reference --check    fail if one is out of date
"""

import argparse
import enum
import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "reference"
PACKAGES = ("portico.client", "portico.proxy", "portico.testing")


def write_page(name: str) -> str:
    """The reference of one package: its docstring, then every name of `__all__`."""
    package = import_module(name)
    lines = [
        f"# `{name}`",
        "",
        "<!-- Written by scripts/write_reference.py from the docstrings. Do not edit. -->",
        "",
    ]
    lines += [*_text(package), ""]
    for public in sorted(package.__all__):
        lines += _entry(public, getattr(package, public))
    return "\n".join(lines).rstrip() + "\n"


def write_cases() -> str:
    """The list of conformance cases: id, level, rule and source of each."""
    from portico.cli.conformance import CATALOG

    lines = [
        "# Conformance cases",
        "",
        "<!-- Written by scripts/write_reference.py from the cases. Do not edit. -->",
        "",
        "What `portico conformance` tries; [how to use it](../conformance.md). Ids that begin with `ACP-` are those of the",
        "official kit. Sources are pages of <https://agentclientprotocol.com/protocol/v1> unless they are linked.",
        "",
    ]
    for kind, cases in CATALOG.items():
        lines += [
            f"## {kind.capitalize()}: {len(cases)} cases",
            "",
            "| id | level | rule | source |",
            "|---|---|---|---|",
        ]
        lines += [f"| {case.id} | {case.level} | {case.rule} | {_source(case.source)} |" for case in cases]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _source(address: str) -> str:
    pages = "https://agentclientprotocol.com/protocol/v1/"
    return f"`{address.removeprefix(pages)}`" if address.startswith(pages) else f"<{address}>"


def _entry(name: str, value: Any) -> Iterator[str]:
    yield from (f"## {name}", "")
    if inspect.isclass(value):
        yield from ("```python", _class_line(name, value), "```", "", *_text(value), "")
        for member, function in _methods(value):
            yield from (f"### {name}.{member}", "", "```python", _signature(member, function), "```", "")
            yield from (*_text(function), "")
    elif inspect.isroutine(value):
        yield from ("```python", _signature(name, value), "```", "", *_text(value), "")
    else:
        yield from ("```python", f"{name} = {_type(value)}", "```", "")


def _methods(owner: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that the class itself defines and documents."""
    for name, member in vars(owner).items():
        function = (
            member.fget
            if isinstance(member, property)
            else inspect.unwrap(getattr(member, "__func__", member))
        )
        if not name.startswith("_") and inspect.isfunction(function) and function.__doc__:
            yield name, function


def _class_line(name: str, owner: type) -> str:
    if issubclass(owner, enum.Enum):
        return f"class {name}: {', '.join(owner.__members__)}"
    fields = getattr(owner, "__struct_fields__", None)
    if fields is not None:
        hints = inspect.get_annotations(owner)
        return f"class {name}({', '.join(f'{one}: {_type(hints[one])}' if one in hints else one for one in fields)})"
    if issubclass(owner, BaseException):
        return f"class {name}({', '.join(base.__name__ for base in owner.__bases__)})"
    return (
        _signature(f"class {name}", owner.__init__, skip_result=True)
        if "__init__" in vars(owner)
        else f"class {name}"
    )


def _signature(name: str, function: Any, *, skip_result: bool = False) -> str:
    signature = inspect.signature(function)
    shown = [
        parameter.replace(annotation=_Shown(_type(parameter.annotation)))
        if parameter.annotation is not inspect.Parameter.empty
        else parameter
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    result = signature.return_annotation
    skip = skip_result or result is inspect.Signature.empty
    text = signature.replace(
        parameters=shown, return_annotation=inspect.Signature.empty if skip else _Shown(_type(result))
    )
    prefix = "async " if inspect.iscoroutinefunction(function) else ""
    return f"{prefix}{name}{text}"


class _Shown:
    """An annotation that is shown as it was written."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _type(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    return re.sub(
        r"\b(?:portico|collections|typing|pathlib|msgspec|datetime)(?:\.\w+)*\.(\w+)",
        r"\1",
        inspect.formatannotation(annotation),
    )


def _text(value: Any) -> list[str]:
    """A docstring as Markdown: indented blocks become code."""
    text, lines, code = inspect.getdoc(value) or "", [], False
    for line in text.splitlines():
        is_code = line.startswith("    ") or (code and not line)
        if is_code and not code:
            lines.append("```python")
        elif code and not is_code:
            if not lines[-1]:
                lines.pop()
            lines.append("```")
            if line:
                lines.append("")
        code = is_code
        lines.append(line.removeprefix("    ") if code else line)
    return [*lines, "```"] if code else lines


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a page is out of date")
    check = parser.parse_args().check
    stale = []
    pages = {name.rpartition(".")[2]: write_page(name) for name in PACKAGES} | {"conformance": write_cases()}
    for name, page in pages.items():
        path = FOLDER / f"{name}.md"
        if check and (not path.exists() or path.read_text(encoding="utf-8") != page):
            stale.append(f"{path.relative_to(ROOT)} is out of date. Run: python -m scripts.write_reference")
        elif not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(page, encoding="utf-8")
    print("\n".join(stale) if stale else "The reference pages are up to date.")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
