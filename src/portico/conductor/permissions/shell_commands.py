"""The programs that a command line would run, including those behind `sudo`, `env`, `sh -c` and `xargs`.

What it cannot find are programs that other programs, scripts and build files start.
"""

import re
from collections.abc import Iterator

import msgspec

from portico.conductor.permissions.shell_syntax import ShellLine, ShellWord, parse_shell_line

_MAX_DEPTH = 8
_MAX_COMMANDS = 500
_MAX_READ = 200_000
_MAX_OPTIONS = 64


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_RESERVED = _names("if then elif else fi while until do done for select case in esac function { } ! coproc")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_SUFFIX = re.compile(r"\.(?:exe|cmd|bat|com)$")
# Programs that run the command in their arguments; for the second ones an argument of theirs comes before it.
_WRAPPERS = _names(
    "env sudo doas nohup time nice ionice stdbuf setsid command builtin exec noglob source . xargs busybox toybox "
    "strace ltrace unbuffer caffeinate systemd-run npx bunx uvx unshare nsenter setpriv prlimit fakeroot proot gdb "
    "valgrind entr pkexec run0"
)
_WRAPPERS_WITH_ARGUMENT = _names("timeout chroot taskset chrt flock runuser setarch")
_RUNNERS = _names("uv poetry pipenv hatch pdm rye pnpm npm yarn bundle mise conda bun nix")
_RUNNING = _names("run exec dlx x")
# Programs that take a line for a shell, or the words of one, as their arguments.
_LINE_TAKERS = _names("eval trap watch parallel ssh su script runuser nix-shell flock entr alias")
_SPLITS = re.compile(r"-\w*S|--s", re.ASCII)
_FINDING = _names("-exec -execdir -ok -okdir")
_SHELLS = _names("sh bash rbash dash zsh ksh mksh ash yash fish csh tcsh pwsh powershell cmd")
_SHELL_CODE = re.compile(r"[-+]\w*[cC]\w*|--?[cC]ommand|/[cCkK]", re.ASCII)
_PYTHONS = _names("python pypy")
_PYTHON_CODE = re.compile(r"-[A-Za-z]*c.*", re.DOTALL)
_INTERPRETERS = _names("perl ruby node nodejs deno bun php lua tclsh osascript")
_CODE = re.compile(r"-[A-Za-z0-9.]*[eEpr].*|--(?:eval|print|run)\b.*|eval", re.DOTALL)
_AWKS = _names("awk gawk mawk nawk")
_AWK_CODE = re.compile(r"system|\||getline")


class ShellCommands(msgspec.Struct):
    """`commands` are the words of each command, the program first. `hides` says that there may be others."""

    commands: list[tuple[ShellWord, ...]] = []
    hides: bool = False
    seen: set[tuple[str, bool]] = set()
    """Scripts that were read already."""
    left: int = _MAX_READ


def parse_shell_commands(text: str) -> ShellCommands:
    """The commands of a line as a shell takes it."""
    found = ShellCommands()
    _read(text, found, 0)
    return found


def program_name(program: str) -> str:
    """A program's name without its folder, as a forgiving file system takes it."""
    return _SUFFIX.sub("", re.split(r"[/\\]", program)[-1].casefold())


def after_options(words: tuple[ShellWord, ...], arguments: int = 0) -> Iterator[tuple[ShellWord, ...]]:
    """The words from every place where options may end: an option may or may not take the next word as its value.

    It continues after so many further `arguments`.
    """
    follows_option = False
    for place, word in enumerate(words[:_MAX_OPTIONS]):
        if word.text.startswith("-"):
            follows_option = word.text != "--" and "=" not in word.text
        elif not _ASSIGNMENT.match(word.text):
            yield words[place:]
            if not follows_option:
                arguments -= 1
                if arguments < 0:
                    return
            follows_option = False
    if len(words) > _MAX_OPTIONS:
        yield (ShellWord("", varies=True),)


def _read(text: str, found: ShellCommands, depth: int, within: ShellLine | None = None) -> None:
    """Read a line; one within another reads what is fed to that one."""
    key = (text, within is not None and within.feeds)
    if key in found.seen:
        return
    found.seen.add(key)
    found.left -= len(text)
    if depth > _MAX_DEPTH or found.left < 0:
        found.hides = True
        return
    line = parse_shell_line(text)
    if within is not None:
        line.feeds |= within.feeds
        line.documents.extend(within.documents)
    found.hides |= line.is_broken
    for words in line.commands:
        _take(words, line, found, depth)


def _take(words: tuple[ShellWord, ...], line: ShellLine, found: ShellCommands, depth: int) -> None:
    """Keep a command, and the commands that its program would run."""
    start = 0
    while start < len(words) and _comes_before_program(words[start]):
        start += 1
    words = words[start:]
    if not words:
        return
    found.left -= len(words)
    if depth > _MAX_DEPTH or len(found.commands) >= _MAX_COMMANDS or found.left < 0:
        found.hides = True
        return
    found.commands.append(words)
    found.hides |= words[0].varies or words[0].matches
    name, rest = program_name(words[0].text), words[1:]
    if name in _RUNNERS and rest and rest[0].text in _RUNNING:
        _take_wrapped(rest[1:], 0, line, found, depth)
    if name in _WRAPPERS or name in _WRAPPERS_WITH_ARGUMENT:
        _take_wrapped(rest, int(name in _WRAPPERS_WITH_ARGUMENT), line, found, depth)
    if name in _LINE_TAKERS or (name == "env" and any(_SPLITS.match(word.text) for word in rest)):
        _take_lines(rest, line, found, depth)
    if name == "find":
        for place, word in enumerate(rest):
            if word.text in _FINDING:
                _take(rest[place + 1 :], line, found, depth + 1)
    if name in _SHELLS:
        _take_shell(rest, line, found, depth)
    else:
        found.hides |= _is_given_code(name.rstrip("0123456789."), rest, line)


def _comes_before_program(word: ShellWord) -> bool:
    """Whether a word at the start of a command sets a variable, or belongs to the shell's own language."""
    return word.text in _RESERVED or _ASSIGNMENT.match(word.text) is not None


def _take_wrapped(
    words: tuple[ShellWord, ...], arguments: int, line: ShellLine, found: ShellCommands, depth: int
) -> None:
    for candidate in after_options(words, arguments):
        _take(candidate, line, found, depth + 1)


def _take_lines(words: tuple[ShellWord, ...], line: ShellLine, found: ShellCommands, depth: int) -> None:
    """Read the arguments as a shell would that gets them: all together, and each by itself."""
    found.hides |= any(word.varies for word in words)
    _read(" ".join(word.text for word in words if not word.text.startswith("-")), found, depth + 1, line)
    for word in words:
        _read(re.sub(r"^(?:-S|--[\w-]+=|\w+=)", "", word.text), found, depth + 1, line)


def _take_shell(words: tuple[ShellWord, ...], line: ShellLine, found: ShellCommands, depth: int) -> None:
    if any(_SHELL_CODE.fullmatch(word.text) for word in words):
        found.hides |= any(word.varies for word in words)
        for word in words:
            _read(word.text, found, depth + 1, line)
        return
    if _reads_program(words):
        found.hides |= line.feeds
        for document in line.documents:
            _read(document, found, depth + 1, line)
    found.hides |= any(word.varies for word in words)
    _take_wrapped(words, 0, line, found, depth)


def _is_given_code(name: str, words: tuple[ShellWord, ...], line: ShellLine) -> bool:
    """Whether an interpreter gets its program from the line, in a language that is not read here."""
    if name in _AWKS:
        return any(word.varies or _AWK_CODE.search(word.text) for word in words)
    if name not in _PYTHONS | _INTERPRETERS:
        return False
    if line.feeds and _reads_program(words):
        return True
    code = _PYTHON_CODE if name in _PYTHONS else _CODE
    follows_option = False
    for word in words:
        if name in _PYTHONS and re.match("-[A-Za-z]*m", word.text):
            return False
        if code.fullmatch(word.text):
            return True
        is_option = word.text.startswith("-")
        if not is_option and not follows_option:
            return word.varies
        follows_option = is_option
    return False


def _reads_program(words: tuple[ShellWord, ...]) -> bool:
    """Whether an interpreter may read its program from what is fed to it: a word after an option may be its value."""
    follows_option = False
    for word in words:
        is_option = word.text.startswith(("-", "+"))
        if word.text in ("-", "-s", "/dev/stdin"):
            return True
        if not is_option and not follows_option:
            return False
        follows_option = is_option
    return True
