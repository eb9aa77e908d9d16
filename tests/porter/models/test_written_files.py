"""Files that models write into their answers: outputs of Qwen2.5-Coder-1.5B, shortened, other forms, and what is no file."""

import pytest

from portico.porter.models.written_files import read_files

PAGES = '''"""Pages of a list."""


def page_count(items: int, size: int) -> int:
    return items // size


def pages(items: list[str], size: int) -> list[list[str]]:
    return [items[number * size : (number + 1) * size] for number in range(page_count(len(items), size))]
'''
FIXED_PAGES = PAGES.replace("return items // size", "return items // size + (items % size != 0)")
BASKET = """class Basket:
    def __init__(self, items=[]):
        self.items = items

    def add(self, item):
        self.items.append(item)
        return self
"""
KNOWN = {"pages.py": PAGES, "shop/basket.py": BASKET, "test_pages.py": "import unittest\n"}
COPIED_BASKET = BASKET.replace("= items\n", "= items.copy()  # Copy the input list\n")
ROUNDED_PAGES = PAGES.replace("return items // size", "return (items + size - 1) // size")

REAL = {
    "words, and the path in a comment": (
        "To find out why the test fails, we need to analyze the output of the `pages` function. Let's examine the code "
        "and see if there are any issues.\n\nHere's the modified code:\n\n```python\n# pages.py\n"
        + FIXED_PAGES
        + "```\n\n"
        "Now, let's run the tests with `python3 -m unittest` to see if the test passes:\n\n"
        "```python\n# test_pages.py\nimport unittest\n```\n\nAfter running the tests, we should see that both tests pass.",
        {"pages.py": FIXED_PAGES},
    ),
    "headings, and a path in one of them": (
        "### Problem Analysis\n\nThe provided Python code contains several issues:\n1. The `pages` function does not "
        "handle cases where the number of items is not divisible by the size.\n\n### Updated Code\n\n"
        "#### pages.py\n```python\n"
        + ROUNDED_PAGES
        + "```\n\n#### test_pages.py\n```python\nimport unittest\n```\n",
        {"pages.py": ROUNDED_PAGES},
    ),
    "the path as it was shown, in a comment": (
        "The `items` attribute should be a copy of the input list to avoid modifying the original list. Here's the "
        "corrected code:\n\n```python\n# [basket.py:]\n"
        + COPIED_BASKET
        + "```\n\nThis ensures that each `Basket` "
        "instance has its own copy of the `items` list.",
        {"shop/basket.py": COPIED_BASKET},
    ),
    "the path in the sentence before": (
        (
            "The `test_pages.py` file is missing the import statement.\n\nHere's the updated `test_pages.py` file:\n\n"
            "```python\nimport unittest\n\nfrom pages import pages\n```\n\nNow you can run the tests."
        ),
        {"test_pages.py": "import unittest\n\nfrom pages import pages\n"},
    ),
    "files that stay as they are": (
        "pages.py\n```\n" + PAGES + "```\n\ntest_pages.py\n```\nimport unittest\n```",
        {},
    ),
}
OTHER = {
    "the path in bold": ("**`pages.py`**\n```python\n" + FIXED_PAGES + "```\n", {"pages.py": FIXED_PAGES}),
    "the path in a heading": (
        "### pages.py\n\n```python\n" + FIXED_PAGES + "```\n",
        {"pages.py": FIXED_PAGES},
    ),
    "the path behind the language": (
        "```python pages.py\n" + FIXED_PAGES + "```\n",
        {"pages.py": FIXED_PAGES},
    ),
    "no path, but one file it resembles": (
        "So:\n\n```python\n" + FIXED_PAGES + "```\n",
        {"pages.py": FIXED_PAGES},
    ),
    "no folder": ("basket.py\n```\n" + COPIED_BASKET + "```", {"shop/basket.py": COPIED_BASKET}),
    "a folder too many": ("/work/pages.py\n```\n" + FIXED_PAGES + "```\n", {"pages.py": FIXED_PAGES}),
    "a new file": ("notes.md\n```\n# Notes\n```\n", {"notes.md": "# Notes\n"}),
    "cut off": ("pages.py\n```\n" + FIXED_PAGES, {"pages.py": FIXED_PAGES}),
    "a command": ("Run this:\n\n```sh\npython3 -m unittest\n```\n", {}),
    "an example that names another file": ("As in setup.cfg, for example:\n```\n[a]\nb = 1\n```\n", {}),
    "a path outside": ("../x.py\n```\nx = 1\n```\n", {}),
    "words only": ("Change pages.py so that it rounds up.", {}),
}


@pytest.mark.parametrize(("text", "files"), [*REAL.values(), *OTHER.values()], ids=[*REAL, *OTHER])
def test_files_are_read_from_an_answer(text: str, files: dict[str, str]) -> None:
    assert {file.path: file.content for file in read_files(text, KNOWN)} == files


def test_a_part_of_a_file_is_told_from_the_whole() -> None:
    part = "pages.py\n```\ndef page_count(items, size):\n    return 1\n```\n"
    assert [(file.path, file.whole) for file in read_files(part, KNOWN)] == [("pages.py", False)]
    assert [file.whole for file in read_files(f"pages.py\n```\n{FIXED_PAGES}```\n", KNOWN)] == [True]
