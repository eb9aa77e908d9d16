import contextlib, io, logging, unittest
import loader

class Check(unittest.TestCase):
    def test_it_logs_and_prints_nothing(self):
        out = io.StringIO()
        with self.assertLogs("loader", logging.INFO) as logged, contextlib.redirect_stdout(out):
            self.assertEqual(loader.load(["a", "b"]), 2)
        self.assertEqual(out.getvalue(), "")
        self.assertEqual([one.getMessage() for one in logged.records], ["loading", "loading a", "loading b", "done"])

unittest.main()
