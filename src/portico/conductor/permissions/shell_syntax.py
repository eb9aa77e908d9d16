"""Parser of shell syntax for deny rules: words, quotes, redirections, substitutions and here-documents.

It serves denials, so it would rather find a command too many. It expands no variables or file names, and a line
that two shells may read in two ways counts as broken.
"""

import re

import msgspec

_MAX_LENGTH = 50_000
_MAX_DEPTH = 12
_SPACE = " \t\r"
_OPERATORS = ";&|\n()"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_DELIMITER = re.compile(r"[ \t]*(\\?[\w.+-]+|'[\w.+-]+'|\"[\w.+-]+\")(?=[\s;&|()<>]|$)")
_DESCRIPTOR = re.compile(r"[ \t]*(?:\d+-?|-)(?=[\s;&|()<>]|$)")
_SHIFT = re.compile(r"\(\(|\$\[")


class ShellWord(msgspec.Struct, frozen=True):
    """A word without its quotes. `varies` says that a shell puts something in, `matches` that it may name files."""

    text: str
    varies: bool = False
    matches: bool = False


class ShellLine(msgspec.Struct):
    """The contents of a line: its commands, and the texts that are fed to them."""

    commands: list[tuple[ShellWord, ...]] = []
    documents: list[str] = []
    feeds: bool = False
    """Whether a command gets something to read: from another one, from a file, or from the line."""
    is_broken: bool = False
    """Whether it is too long, too deep or incomplete, or means different things to different shells."""


def parse_shell_line(text: str) -> ShellLine:
    line = ShellLine(is_broken=len(text) > _MAX_LENGTH)
    if "<<" in text and _SHIFT.search(text):
        line.is_broken = True  # Either is a shift in arithmetic or the start of a document.
    _Reader(text[:_MAX_LENGTH], line).read("", 0)
    return line


class _Pending:
    """The command that is being read, and the word of it that is."""

    def __init__(self, line: ShellLine) -> None:
        self._line = line
        self.words: list[ShellWord] = []
        self.next_is_target = False
        self.next_is_document = False
        self.begin_word()

    def begin_word(self) -> None:
        self._letters: list[str] = []
        self.in_word = self.varies = self.matches = False

    def add(self, text: str) -> None:
        self.in_word = True
        self._letters.append(text)

    def vary(self) -> None:
        self.in_word = self.varies = True

    def end_word(self) -> None:
        if not self.in_word:
            return
        text = "".join(self._letters)
        if self.next_is_document:
            self._line.documents.append(text)
        elif not self.next_is_target:
            self.words.append(ShellWord(text, self.varies, self.matches))
        self.next_is_target = self.next_is_document = False
        self.begin_word()

    def drop_descriptor(self) -> None:
        """Before a redirection, a number is the descriptor that it is about."""
        if "".join(self._letters).isdecimal():
            self.begin_word()
        self.end_word()


class _Reader:
    """Reads a text from left to right, once."""

    def __init__(self, text: str, line: ShellLine) -> None:
        self._text = text
        self._line = line
        self._at = 0
        self._awaited: list[tuple[str, bool, bool]] = []

    def read(self, end: str, depth: int, *, runs: bool = True) -> None:
        """Read commands up to a closing character; without `runs`, words that a shell puts in."""
        if depth > _MAX_DEPTH:
            self._line.is_broken, self._at = True, len(self._text)
            return
        command = _Pending(self._line)
        while (letter := self._next()) and letter != end:
            if letter in _SPACE:
                command.end_word()
            elif letter in _OPERATORS:
                self._end(command, runs=runs)
                command = _Pending(self._line)
                self._line.feeds |= letter == "|"
                if letter == "(":
                    self.read(")", depth + 1)
                elif letter == "\n":
                    self._read_documents(depth)
            elif letter in "<>" and runs:
                self._redirect(letter, command, depth)
            elif letter == "#" and runs and not command.in_word:
                while self._peek() not in ("\n", ""):
                    self._next()
            else:
                self._add(letter, command, depth)
        self._end(command, runs=runs)
        if letter != end or (not letter and self._awaited):
            self._line.is_broken = True

    def _end(self, command: _Pending, *, runs: bool) -> None:
        command.end_word()
        if command.words and runs:
            self._line.commands.append(tuple(command.words))
            # A pattern of `case` ends with the character that ends a substitution.
            self._line.is_broken |= any(word.text == "case" for word in command.words)

    def _add(self, letter: str, command: _Pending, depth: int) -> None:
        """Add what begins with this letter to the word."""
        if letter == "\\":
            following = self._next()
            if following != "\n":
                command.add(following)
        elif letter == "'":
            command.add(self._until("'"))
        elif letter == '"':
            self.read_quoted(command, depth, '"')
        elif letter == "$" and self._peek() == "'":
            # Some shells know escapes in this, and some do not.
            self._next()
            command.vary()
            self._line.is_broken |= "\\" in self._until("'")
        elif letter in "$`":
            self._substitute(letter, command, depth)
        else:
            command.matches |= letter in "*?[{~="
            command.varies |= letter == "{"
            command.add(letter)

    def read_quoted(self, command: _Pending, depth: int, end: str) -> None:
        command.in_word = True
        while (letter := self._next()) and letter != end:
            if letter == "\\":
                following = self._next()
                if following != "\n":
                    command.add(following if following in '$`"\\' else f"\\{following}")
            elif letter in "$`":
                self._substitute(letter, command, depth)
            else:
                command.add(letter)
        self._line.is_broken |= letter != end

    def _substitute(self, letter: str, command: _Pending, depth: int) -> None:
        """Read what a shell puts in: the output of commands, or a variable."""
        if letter == "`":
            command.vary()
            inner = self._until("`")
            self._line.is_broken |= "\\" in inner
            _Reader(inner, self._line).read("", depth + 1)
        elif self._peek() in ("(", "{"):
            command.vary()
            opening = self._next()
            self.read(")" if opening == "(" else "}", depth + 1, runs=opening == "(")
        elif variable := _VARIABLE.match(self._text, self._at):
            command.vary()
            self._at = variable.end()
        else:
            command.varies |= self._peek() == "["
            command.add(letter)

    def _redirect(self, letter: str, command: _Pending, depth: int) -> None:
        """Read a redirection; the word after it is no word of the command."""
        if self._peek() == "(":
            self._next()
            command.vary()
            self.read(")", depth + 1)
            return
        command.drop_descriptor()
        self._line.feeds |= letter == "<"
        if letter == "<" and self._text.startswith("<<", self._at):
            self._at += 2
            command.next_is_document = True
        elif letter == "<" and self._peek() == "<":
            self._next()
            self._announce_document()
        else:
            start = self._at
            while self._peek() and self._peek() in ">&|":
                self._next()
            # Some shells expand what follows `>&` even in quotes, and some take `>!` for one operator.
            is_descriptor = _DESCRIPTOR.match(self._text, self._at) is not None
            self._line.is_broken |= "&" in self._text[start : self._at] and not is_descriptor
            self._line.is_broken |= self._peek() == "!"
            command.next_is_target = True

    def _announce_document(self) -> None:
        strips = self._peek() == "-"
        if strips:
            self._next()
        delimiter = _DELIMITER.match(self._text, self._at)
        if delimiter is None:
            self._line.is_broken = True
            return
        self._at = delimiter.end()
        written = delimiter[1]
        plain = written.strip("'\"\\")
        self._awaited.append((plain, strips, plain != written))

    def _read_documents(self, depth: int) -> None:
        """Read the texts that were announced. A shell runs what is substituted in them, unless they are quoted."""
        for delimiter, strips, is_quoted in self._awaited:
            rows: list[str] = []
            while self._at < len(self._text):
                row = self._text[self._at :].partition("\n")[0]
                self._at += len(row) + 1
                if (row.lstrip("\t") if strips else row) == delimiter:
                    break
                rows.append(row)
            else:
                self._line.is_broken = True
            document = "\n".join(rows)
            self._line.documents.append(document)
            if not is_quoted:
                _Reader(document, self._line).read_quoted(_Pending(self._line), depth + 1, "")
        self._awaited.clear()

    def _until(self, end: str) -> str:
        found = self._text.find(end, self._at)
        if found < 0:
            self._line.is_broken, found = True, len(self._text)
        between = self._text[self._at : found]
        self._at = found + 1
        return between

    def _next(self) -> str:
        letter = self._peek()
        self._at += len(letter)
        return letter

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]
