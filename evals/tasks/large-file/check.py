import pathlib, unittest
from squares import SQUARES

class Check(unittest.TestCase):
    def test_every_square(self):
        self.assertEqual([n for n, value in SQUARES.items() if value != n * n], [])
        self.assertEqual(len(SQUARES), 6000)

    def test_the_comments_stay(self):
        self.assertEqual(pathlib.Path("squares.py").read_text().count("# the square of"), 6000)

unittest.main()
