import pathlib, unittest
import client

class Check(unittest.TestCase):
    def test_code(self):
        self.assertEqual(client.Settings().timeout, 30)
        self.assertEqual(client.Settings().retries, 3)

    def test_docs(self):
        page = pathlib.Path("docs/settings.md").read_text()
        self.assertIn("| `timeout` | 30 |", page)
        self.assertIn("| `retries` | 3 |", page)
        self.assertNotIn("10 seconds", page)

unittest.main()
