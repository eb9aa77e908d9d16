"""Task: make a change in several steps and keep a to-do list of them."""

from typing import Any

from portico.porter.evaluation.task import RUN_TESTS, EvaluationTask, ScriptedCall, ScriptedStep, call, edit

_CODE = """class Account:
    def __init__(self):
        self.balance = 0

    def withdraw(self, amount):
        self.balance -= amount
"""
_CHECK = """import subprocess, sys, unittest
from account import Account, NotEnough

class Check(unittest.TestCase):
    def test_withdrawing(self):
        mine = Account()
        mine.deposit(10)
        mine.withdraw(4)
        self.assertEqual(mine.balance, 6)
        with self.assertRaises(NotEnough):
            mine.withdraw(7)
        self.assertEqual(mine.balance, 6)

    def test_amounts(self):
        for amount in (0, -1):
            with self.assertRaises(ValueError):
                Account().deposit(amount)

    def test_there_are_tests(self):
        done = subprocess.run([sys.executable, "-B", "-m", "unittest"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Ran 0 tests", done.stderr)

unittest.main()
"""
_TEST = """import unittest

from account import Account, NotEnough


class Accounts(unittest.TestCase):
    def test_no_more_than_there_is(self):
        mine = Account()
        mine.deposit(5)
        with self.assertRaises(NotEnough):
            mine.withdraw(6)
        self.assertEqual(mine.balance, 5)

    def test_nothing_is_no_deposit(self):
        with self.assertRaises(ValueError):
            Account().deposit(0)
"""
_STEPS = ("deposit with a check of the amount", "NotEnough in withdraw", "tests")


def _todos(done: int) -> ScriptedCall:
    todos: list[dict[str, Any]] = [
        {"text": text, "status": "completed" if place < done else "pending"}
        for place, text in enumerate(_STEPS)
    ]
    return call("todo_write", todos=todos)


TASK = EvaluationTask(
    name="keep-a-list",
    purpose="do a change of several steps with a list of them",
    files={"account.py": _CODE},
    prompts=(
        (
            "Account needs: deposit(amount), with ValueError unless the amount is positive; an exception NotEnough that "
            "withdraw raises, without changing anything, when the balance does not suffice; and unittest tests for both "
            f"in test_account.py ({RUN_TESTS}). Keep a list of the steps."
        ),
    ),
    check=_CHECK,
    script=(
        ScriptedStep(calls=(call("read", path="account.py"), _todos(0))),
        ScriptedStep(
            calls=(
                edit(
                    "account.py",
                    (
                        "class Account:",
                        'class NotEnough(Exception):\n    """There is less than that."""\n\n\nclass Account:',
                    ),
                    (
                        "    def withdraw(self, amount):\n",
                        (
                            "    def deposit(self, amount):\n        if amount <= 0:\n"
                            '            raise ValueError("a deposit is more than nothing")\n'
                            "        self.balance += amount\n\n    def withdraw(self, amount):\n"
                            "        if amount > self.balance:\n            raise NotEnough(amount)\n"
                        ),
                    ),
                ),
                _todos(2),
            ),
            sees=("self.balance -= amount", _STEPS[0]),
        ),
        ScriptedStep(
            calls=(
                call("write", path="test_account.py", content=_TEST),
                call("run", command=RUN_TESTS),
                _todos(3),
            ),
            sees=("Changed account.py in 2 places",),
        ),
        ScriptedStep(says="All three are done, and the tests pass.", sees=("Ran 2 tests", "OK")),
    ),
)
