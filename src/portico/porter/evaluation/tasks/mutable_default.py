"""Task: fix a list that is shared through a mutable default."""

from portico.porter.evaluation.task import EvaluationTask, ScriptedStep, call, edit

_CODE = """class Basket:
    def __init__(self, items=[]):
        self.items = items

    def add(self, item):
        self.items.append(item)
        return self
"""
_CHECK = """import unittest
from basket import Basket

class Check(unittest.TestCase):
    def test_baskets_are_apart(self):
        Basket().add("tea")
        self.assertEqual(Basket().items, [])

    def test_a_list_that_is_given_is_not_changed(self):
        mine = ["tea"]
        self.assertEqual(Basket(mine).add("milk").items, ["tea", "milk"])
        self.assertEqual(mine, ["tea"])

unittest.main()
"""

TASK = EvaluationTask(
    name="mutable-default",
    purpose="fix a default that all objects share",
    files={"basket.py": _CODE},
    prompts=(
        "Items of one Basket turn up in others. Fix basket.py; a list that is passed in must not be changed either.",
    ),
    check=_CHECK,
    script=(
        ScriptedStep(calls=(call("glob", pattern="*.py"), call("read", path="basket.py"))),
        ScriptedStep(
            says="The default list is one object for all.",
            calls=(
                edit(
                    "basket.py", ("items=[]", "items=()"), ("self.items = items", "self.items = list(items)")
                ),
            ),
            sees=("items=[]",),
        ),
        ScriptedStep(says="Every basket has a list of its own.", sees=("in 2 places",)),
    ),
)
