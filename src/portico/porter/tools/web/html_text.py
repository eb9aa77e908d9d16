"""Converts HTML to readable text."""

import re
from html.parser import HTMLParser

_SILENT = {"script", "style", "noscript", "template", "svg", "head", "iframe"}
_BLOCKS = {
    "address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "fieldset", "figure", "footer",
    "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section",
    "table", "tr", "ul",
}  # fmt: skip
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}


class _TextExtractor(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._silent = 0
        self._exact = 0
        self._link: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent += 1
        elif tag == "pre":
            self._exact += 1
            self.parts.append("\n```\n")
        elif tag in _HEADINGS:
            self.parts.append(f"\n\n{_HEADINGS[tag]} ")
        elif tag == "li":
            self.parts.append("\n- ")
        elif tag in _BLOCKS:
            self.parts.append("\n")
        elif tag in ("td", "th"):
            self.parts.append(" | ")
        elif tag == "a":
            self._link = dict(attrs).get("href")

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(self._silent - 1, 0)
        elif tag == "pre":
            self._exact = max(self._exact - 1, 0)
            self.parts.append("\n```\n")
        elif tag == "a":
            if self._link is not None and self._link.startswith(("http://", "https://")):
                self.parts.append(f" ({self._link})")
            self._link = None
        elif tag in _BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(data if self._exact else re.sub(r"\s+", " ", data))


def html_to_text(html: str) -> str:
    reader = _TextExtractor()
    reader.feed(html)
    reader.close()
    lines = (line.rstrip() for line in "".join(reader.parts).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line if line.strip() else "" for line in lines)).strip()
