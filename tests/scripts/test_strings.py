"""The list of texts that people can see contains those of every place, and no docstrings, ids or queries."""

from pathlib import Path

from scripts.list_strings import PLACES, list_texts, read_literals

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_list_has_texts_of_every_place_in_order() -> None:
    texts = list_texts(ROOT)

    assert list(dict.fromkeys(text.place for text in texts)) == list(PLACES)
    shown = {(text.place, text.text) for text in texts}
    assert ("page", "Finish branch…") in shown
    assert ("extension", "Select a saved prompt or enter a task") in shown
    assert ("package.json", "Switch Review Mode") in shown
    assert ("cli", "session to continue (ID or unique prefix)") in shown
    assert ("errors", "No such content") in shown
    assert ("notices", "The model gave an empty answer.") in shown
    assert ("other", "The prompt is empty.") in shown


def test_texts_for_programs_are_left_out() -> None:
    source = '''"""A docstring of a module."""
QUERY = "SELECT seq FROM events"
NAME = "session_id"
def fail(count: int) -> None:
    """A docstring of a function."""
    raise ValueError(f"No room for {count:,} more files.")
'''

    assert list(read_literals(source)) == [(6, "No room for {count} more files.", "ValueError")]
