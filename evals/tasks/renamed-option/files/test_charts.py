import unittest
import warnings

import cli
import reports
from draw import chart


class Names(unittest.TestCase):
    def setUp(self):
        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__, None, None, None)
        warnings.simplefilter("error")

    def test_the_new_name(self):
        self.assertEqual(chart([1, 2], width=2, color="red"), ["\x1b[31m#\x1b[0m", "\x1b[31m##\x1b[0m"])
        self.assertEqual(chart([2]), ["#" * 20])

    def test_the_old_name_warns(self):
        with self.assertWarns(DeprecationWarning):
            found = chart([1], width=1, colour="green")
        self.assertEqual(found, ["\x1b[32m#\x1b[0m"])

    def test_both_names_are_refused(self):
        with self.assertRaises(TypeError):
            chart([1], color="red", colour="red")

    def test_an_unknown_color_is_refused(self):
        with self.assertRaises(ValueError):
            chart([1], color="pink")

    def test_our_own_code_uses_the_new_name(self):
        self.assertEqual(reports.sales([1]), ["\x1b[32m##########\x1b[0m"])
        self.assertEqual(reports.losses([1]), ["\x1b[31m##########\x1b[0m"])

    def test_the_program_takes_both(self):
        for option in ("--color", "--colour"):
            self.assertEqual(cli.main([option, "red", "1"]), ["\x1b[31m" + "#" * 20 + "\x1b[0m"])
        self.assertEqual(cli.main(["1"]), ["#" * 20])
