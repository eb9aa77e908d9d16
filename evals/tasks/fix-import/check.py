import subprocess, sys, unittest

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
