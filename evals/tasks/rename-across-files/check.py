import pathlib, re, unittest
from shop.report import report
from shop.prices import total_price

class Check(unittest.TestCase):
    def test_it_works(self):
        self.assertEqual(total_price([1, 2]), 3)
        self.assertEqual(report([1, 2]), "total: 3")

    def test_the_old_name_is_gone_and_its_longer_cousin_stays(self):
        text = "\n".join(path.read_text() for path in pathlib.Path(".").rglob("*.*") if ".git" not in path.parts)
        self.assertIsNone(re.search(r"\bcalc\b", text))
        self.assertIn("calculator", text)

unittest.main()
