"""Task: rename a function in every file that uses it, and in no other word."""

from portico.porter.evaluation.task import EvaluationTask, ScriptedStep, call, edit

_CHECK = """import pathlib, re, unittest
from shop.report import report
from shop.prices import total_price

class Check(unittest.TestCase):
    def test_it_works(self):
        self.assertEqual(total_price([1, 2]), 3)
        self.assertEqual(report([1, 2]), "total: 3")

    def test_the_old_name_is_gone_and_its_longer_cousin_stays(self):
        text = "\\n".join(path.read_text() for path in pathlib.Path(".").rglob("*.*") if ".git" not in path.parts)
        self.assertIsNone(re.search(r"\\bcalc\\b", text))
        self.assertIn("calculator", text)

unittest.main()
"""

TASK = EvaluationTask(
    name="rename-across-files",
    purpose="rename a function in code, tests and documentation",
    files={
        "shop/__init__.py": "",
        "shop/prices.py": 'def calc(prices):\n    """Like a calculator: the sum."""\n    return sum(prices)\n',
        "shop/report.py": 'from shop.prices import calc\n\n\ndef report(prices):\n    return f"total: {calc(prices)}"\n',
        "tests/test_prices.py": "import unittest\n\nfrom shop.prices import calc\n\n\nclass Prices(unittest.TestCase):\n"
        "    def test_sum(self):\n        self.assertEqual(calc([1, 2]), 3)\n",
        "README.md": "# Shop\n\n`calc(prices)` adds prices up. It is no calculator.\n",
    },
    prompts=(
        "Rename the function calc in shop/prices.py to total_price everywhere it is used or mentioned.",
    ),
    check=_CHECK,
    script=(
        ScriptedStep(calls=(call("grep", pattern=r"\bcalc\b"), call("glob", pattern="**/*.py"))),
        ScriptedStep(
            calls=(
                edit("shop/prices.py", ("def calc(", "def total_price(")),
                edit("shop/report.py", ("import calc", "import total_price"), ("{calc(", "{total_price(")),
                edit(
                    "tests/test_prices.py",
                    ("import calc", "import total_price"),
                    ("Equal(calc(", "Equal(total_price("),
                ),
                edit("README.md", ("`calc(prices)`", "`total_price(prices)`")),
            ),
            sees=("shop/report.py", "tests/test_prices.py", "README.md"),
        ),
        ScriptedStep(
            calls=(call("grep", pattern=r"\bcalc\b"),), sees=("Changed shop/report.py", "Changed README.md")
        ),
        ScriptedStep(says="Renamed in four files; nothing uses the old name any more."),
    ),
)
