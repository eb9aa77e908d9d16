"""Renderer of Markdown text, except top-level lists and fences, for rich.

Nothing in the text is markup to rich, HTML is shown as it is written, and a link is clickable
only with a harmless scheme; wherever a link's words could deceive, its address stands beside it.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from rich import box
from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.style import Style
from rich.table import Table
from rich.text import Text

from portico.doors.terminal.layout import PrefixedLines, barred, indented
from portico.doors.terminal.sanitizer import clean, safe_link
from portico.doors.terminal.theme import ACCENT, DIM, STRONG, Signs

_INLINE_STYLES = {"em": "italic", "strong": "bold", "s": "strike", "code_inline": ACCENT}
_HEADING_STYLES = {"h1": f"bold {ACCENT}", "h2": STRONG, "h3": "bold italic"}


class ProseRenderer:
    """Renders Markdown; `links` says whether the terminal can make text clickable."""

    def __init__(self, signs: Signs, *, links: bool) -> None:
        self._signs = signs
        self._links = links

    def render(self, markdown: str) -> RenderableType:
        tree = SyntaxTreeNode(_parser().parse(clean(markdown)))
        return self._stacked(tree.children)

    def _stacked(self, nodes: Iterable[SyntaxTreeNode]) -> RenderableType:
        """Blocks under each other, with a blank line between."""
        parts: list[RenderableType] = []
        for node in nodes:
            parts += [Text(), self._block(node)] if parts else [self._block(node)]
        return parts[0] if len(parts) == 1 else Group(*parts)

    def _block(self, node: SyntaxTreeNode) -> RenderableType:
        match node.type:
            case "heading":
                return self._inline(node.children, Style.parse(_HEADING_STYLES.get(node.tag, "italic")))
            case "paragraph":
                return self._inline(node.children, Style())
            case "blockquote":
                return barred(self._stacked(node.children), self._signs.quote, DIM)
            case "bullet_list" | "ordered_list":
                return Group(*self._items(node))
            case "hr":
                return Rule(characters=self._signs.rule, style=DIM)
            case "table":
                return self._table(node)
            case "fence" | "code_block":
                return indented(Text(node.content.rstrip("\n"), overflow="fold"), 2)
            case _:
                return self._inline(node.children, Style()) if node.children else Text(node.content)

    def _items(self, node: SyntaxTreeNode) -> Iterator[RenderableType]:
        number = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else 0
        for offset, item in enumerate(node.children):
            yield self.item(f"{number + offset}." if number else "-", self._stacked(item.children))

    def item(self, marker: str, body: RenderableType) -> RenderableType:
        """A list item: a bullet, or a number as it was written."""
        sign = marker if marker[:-1].isdigit() else self._signs.bullet
        return PrefixedLines(body, f"{sign} ", ACCENT)

    def _table(self, node: SyntaxTreeNode) -> RenderableType:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, border_style=DIM)
        for section in node.children:
            for row in section.children:
                cells = [self._inline(cell.children, Style()) for cell in row.children]
                if section.type == "tbody":
                    table.add_row(*cells)
                    continue
                for cell, shown in zip(row.children, cells, strict=True):
                    shown.stylize(STRONG)
                    table.add_column(shown, justify=_alignment(cell), overflow="fold")
        return table

    def _inline(self, nodes: Iterable[SyntaxTreeNode], style: Style) -> Text:
        text = Text(overflow="fold")
        for node in nodes:
            self._add(text, node, style)
        return text

    def _add(self, text: Text, node: SyntaxTreeNode, style: Style) -> None:
        match node.type:
            case "text":
                text.append(node.content, style)
            case "softbreak":
                text.append(" ", style)
            case "hardbreak":
                text.append("\n", style)
            case "link" | "image":
                self._add_link(text, node, style)
            case "inline" | "em" | "strong" | "s":
                inner = style + Style.parse(_INLINE_STYLES.get(node.type, ""))
                for child in node.children:
                    self._add(text, child, inner)
            case kind:
                text.append(node.content, style + Style.parse(_INLINE_STYLES.get(kind, "")))

    def _add_link(self, text: Text, node: SyntaxTreeNode, style: Style) -> None:
        address = str(node.attrs.get("href") or node.attrs.get("src") or "")
        clickable = self._links and safe_link(address)
        words = self._inline(node.children, style + Style(underline=True))
        if node.type == "image":
            words = Text(f"[image {words.plain}]".replace(" ]", "]"), style)
        if clickable:
            words.stylize(Style(link=address))
        text.append_text(words)
        deceptive = ("." in words.plain or "/" in words.plain) and words.plain != address
        if address and words.plain != address and (deceptive or not clickable):
            text.append(f" ({address})", style + Style(dim=True))


def _alignment(cell: SyntaxTreeNode) -> Literal["left", "center", "right"]:
    style = str(cell.attrs.get("style", ""))
    return "right" if style.endswith("right") else "center" if style.endswith("center") else "left"


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802, the library calls it so
        """Every link is parsed; which of them may be clicked is decided when they are shown."""
        return True


@cache
def _parser() -> MarkdownIt:
    return _Parser("commonmark", {"html": False}).enable(["table", "strikethrough"])
