import pathlib, subprocess, sys, unittest

def tests():
    run = [sys.executable, "-B", "-m", "unittest", "test_roman"]
    done = subprocess.run(run, capture_output=True, text=True)
    return done.returncode, done.stderr

class Check(unittest.TestCase):
    def test_the_tests_pass_and_notice_a_mistake(self):
        code, words = tests()
        self.assertEqual(code, 0, words)
        self.assertNotIn("Ran 0 tests", words)
        source = pathlib.Path("roman.py")
        right = source.read_text()
        try:
            source.write_text(right.replace("-value if", "value if"))
            self.assertNotEqual(tests()[0], 0, "the tests did not notice that subtraction is gone")
        finally:
            source.write_text(right)

unittest.main()
