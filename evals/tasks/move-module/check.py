import pathlib, unittest
import app
from store.database import Database

class Check(unittest.TestCase):
    def test_it_moved(self):
        self.assertFalse(pathlib.Path("database.py").exists())
        self.assertTrue(pathlib.Path("store/__init__.py").exists())

    def test_it_works(self):
        self.assertEqual(app.start(), "opened main.db")
        self.assertIsInstance(app.make(), Database)

unittest.main()
