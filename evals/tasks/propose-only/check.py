import pathlib, unittest
import mail

class Check(unittest.TestCase):
    def test_addresses(self):
        for good in ("a@b.de", "first.last@mail.example.org"):
            self.assertTrue(mail.is_address(good), good)
        for bad in ("", "a", "a@", "@b.de", "a@b@c.de", "a b@c.de"):
            self.assertFalse(mail.is_address(bad), bad)

    def test_the_old_file_is_gone(self):
        self.assertFalse(pathlib.Path("mail_old.py").exists())

unittest.main()
