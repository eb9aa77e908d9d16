import pathlib
import tempfile
import unittest

from envfile import EnvError, load, parse


class Parsing(unittest.TestCase):
    def test_plain_values(self):
        self.assertEqual(parse("A=1\n\n  B = two words # why\nexport C=\n# D=4"), {"A": "1", "B": "two words", "C": ""})

    def test_a_hash_in_quotes_is_no_comment(self):
        self.assertEqual(parse('P="a#b"  # the real one\nQ=\'#\''), {"P": "a#b", "Q": "#"})

    def test_spaces_in_quotes_stay(self):
        self.assertEqual(parse('A="  x "\nB=\' y\''), {"A": "  x ", "B": " y"})

    def test_escapes_count_in_double_quotes_only(self):
        self.assertEqual(parse(r'A="one\ntwo \"x\" \\n"'), {"A": 'one\ntwo "x" \\n'})
        self.assertEqual(parse(r"A='one\ntwo'"), {"A": r"one\ntwo"})

    def test_a_quote_inside_of_a_value_is_a_letter(self):
        self.assertEqual(parse("A=it's"), {"A": "it's"})

    def test_an_open_quote_is_refused(self):
        for text in ('A=1\nB="x', "A=1\nB='x", 'A=1\nB="x\\"'):
            with self.assertRaises(EnvError, msg=text) as caught:
                parse(text)
            self.assertEqual(caught.exception.line, 2)

    def test_no_name_is_refused(self):
        for text in ("just words", "1A=2"):
            with self.assertRaises(EnvError, msg=text):
                parse(text)


class Loading(unittest.TestCase):
    def test_what_is_there_stays(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, ".env")
            path.write_text('A="new"\nB="#1"\n')
            environ = {"A": "old"}
            self.assertEqual(load(path, environ), ["B"])
            self.assertEqual(environ, {"A": "old", "B": "#1"})
