"""Task: break a circular import between two modules."""

from portico.porter.evaluation.task import RUN_TESTS, EvaluationTask, ScriptedStep, call, edit

_CHECK = """import subprocess, sys, unittest

class Check(unittest.TestCase):
    def test_each_module_can_be_the_first(self):
        for module in ("orders", "customers"):
            done = subprocess.run([sys.executable, "-B", "-c", f"import {module}"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_they_still_work_together(self):
        from customers import Customer
        ada = Customer("Ada")
        order = ada.order("tea")
        self.assertEqual((order.customer, order.item), (ada, "tea"))
        self.assertEqual(order.label(), "tea for Ada")

unittest.main()
"""

TASK = EvaluationTask(
    name="fix-import",
    purpose="untie two modules that import each other",
    files={
        "orders.py": "from customers import Customer\n\n\nclass Order:\n    def __init__(self, customer, item):\n"
        "        assert isinstance(customer, Customer)\n        self.customer = customer\n        self.item = item\n\n"
        '    def label(self):\n        return f"{self.item} for {self.customer.name}"\n',
        "customers.py": "from orders import Order\n\n\nclass Customer:\n    def __init__(self, name):\n"
        "        self.name = name\n\n    def order(self, item):\n        return Order(self, item)\n",
        "test_orders.py": "import unittest\n\nfrom customers import Customer\n\n\nclass Orders(unittest.TestCase):\n"
        '    def test_label(self):\n        self.assertEqual(Customer("Ada").order("tea").label(), "tea for Ada")\n',
    },
    prompts=(f"The tests cannot even be imported. Fix that; run them with: {RUN_TESTS}",),
    check=_CHECK,
    script=(
        ScriptedStep(
            calls=(
                call("run", command=RUN_TESTS),
                call("read", path="orders.py"),
                call("read", path="customers.py"),
            )
        ),
        ScriptedStep(
            calls=(
                edit(
                    "customers.py",
                    ("from orders import Order\n\n\n", ""),
                    (
                        "        return Order(self, item)",
                        "        from orders import Order\n\n        return Order(self, item)",
                    ),
                ),
                call("run", command=RUN_TESTS),
            ),
            sees=("circular import", "isinstance(customer, Customer)"),
        ),
        ScriptedStep(says="`customers` imports `Order` only when it needs it.", sees=("OK",)),
    ),
)
