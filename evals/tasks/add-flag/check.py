import subprocess, sys, unittest

def run(*words):
    done = subprocess.run([sys.executable, "-B", "greet.py", *words], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()

class Check(unittest.TestCase):
    def test_loud(self):
        self.assertEqual(run("--shout", "Ada", "Bo"), ["HELLO, ADA.", "HELLO, BO."])

    def test_as_before(self):
        self.assertEqual(run("Ada"), ["Hello, Ada."])

    def test_help(self):
        self.assertIn("--shout", "\n".join(run("--help")))

unittest.main()
