"""Task: fix an off-by-one error that a failing test shows."""

from portico.porter.evaluation.task import RUN_TESTS, EvaluationTask, ScriptedStep, call, edit

_CODE = '''"""Pages of a list."""


def page_count(items: int, size: int) -> int:
    return items // size


def pages(items: list[str], size: int) -> list[list[str]]:
    return [items[number * size : (number + 1) * size] for number in range(page_count(len(items), size))]
'''
_TEST = """import unittest

from pages import pages


class Pages(unittest.TestCase):
    def test_the_last_page_may_be_short(self):
        self.assertEqual(pages(list("abcde"), 2), [["a", "b"], ["c", "d"], ["e"]])

    def test_a_list_that_fits_has_no_empty_page(self):
        self.assertEqual(pages(list("abcd"), 2), [["a", "b"], ["c", "d"]])
"""
_CHECK = """import unittest
from pages import page_count, pages

class Check(unittest.TestCase):
    def test_counts(self):
        self.assertEqual([page_count(n, 3) for n in range(8)], [0, 1, 1, 1, 2, 2, 2, 3])

    def test_nothing_is_lost(self):
        self.assertEqual(sum(pages(list("abcdefg"), 3), []), list("abcdefg"))

unittest.main()
"""

TASK = EvaluationTask(
    name="fix-off-by-one",
    purpose="find a bug by its failing test, and fix it",
    files={"pages.py": _CODE, "test_pages.py": _TEST},
    prompts=(f"A test fails. Find out why and fix the code, not the test. Run the tests with: {RUN_TESTS}",),
    check=_CHECK,
    script=(
        ScriptedStep(says="I run the tests first.", calls=(call("run", command=RUN_TESTS),)),
        ScriptedStep(calls=(call("read", path="pages.py"),), sees=("FAILED (failures=1)", "test_pages.py")),
        ScriptedStep(
            calls=(edit("pages.py", ("return items // size", "return -(-items // size)")),),
            sees=("return items // size",),
        ),
        ScriptedStep(calls=(call("run", command=RUN_TESTS),), sees=("Changed pages.py in 1 place",)),
        ScriptedStep(says="`page_count` rounded down; now it rounds up, and the tests pass.", sees=("OK",)),
    ),
)
