import contextlib
import io
import unittest

from stock.cli import main


def run(*words):
    out = io.StringIO()
    main(list(words), out)
    return out.getvalue().splitlines()


class Report(unittest.TestCase):
    def test_csv(self):
        self.assertEqual(
            run("--format", "csv"),
            ["name,count,place", '"bolt, 8 mm",120,A1', '"pipe 2""",4,B3', "washer,0,A2"],
        )

    def test_csv_of_a_part(self):
        self.assertEqual(run("--low", "0", "--format", "csv"), ["name,count,place", "washer,0,A2"])

    def test_the_table_is_as_it_was(self):
        expected = ["bolt, 8 mm    120  A1", 'pipe 2"         4  B3', "washer          0  A2"]
        self.assertEqual(run(), expected)
        self.assertEqual(run("--format", "table"), expected)
        self.assertEqual(run("--low", "0"), ["washer      0  A2"])

    def test_other_formats_are_refused(self):
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            run("--format", "xml")
