import subprocess, sys, unittest
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
