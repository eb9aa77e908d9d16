"""Keeps the last part of a command's output: text, cut between characters, never more than a limit."""

import codecs


class OutputTail:
    """Takes bytes as they come, gives them back as text, and remembers the end of it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.truncated = False

    def add(self, data: bytes) -> str:
        """What these bytes say, together with what was left of the last character before them."""
        return self._keep(self._decoder.decode(data))

    def finish(self) -> str:
        """What a last, unfinished character amounts to."""
        text = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return self._keep(text)

    @property
    def text(self) -> str:
        return self._kept.decode()

    def _keep(self, text: str) -> str:
        self._kept += text.encode()
        surplus = len(self._kept) - self._limit
        if surplus > 0:
            while surplus < len(self._kept) and self._kept[surplus] & 0xC0 == 0x80:
                surplus += 1
            del self._kept[:surplus]
            self.truncated = True
        return text
