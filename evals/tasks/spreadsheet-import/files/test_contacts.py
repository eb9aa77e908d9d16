import unittest

from contacts.people import Contact, ImportFailed, read_contacts

ADA, BO = Contact("Ada", "ada@example.org"), Contact("Bo; Jr.", "bo@example.org")


class Files(unittest.TestCase):
    def test_commas(self):
        data = b"name,mail\nAda,ada@example.org\nBo; Jr.,bo@example.org\n"
        self.assertEqual(read_contacts(data), [ADA, BO])

    def test_from_a_spreadsheet(self):
        data = b'\xef\xbb\xbfname;mail;phone\r\nAda;ada@example.org;1\r\n"Bo; Jr.";bo@example.org;2\r\n;;\r\n\r\n'
        self.assertEqual(read_contacts(data), [ADA, BO])

    def test_names_of_columns_in_any_case(self):
        self.assertEqual(read_contacts(b"Mail , NAME\nada@example.org,Ada\n"), [ADA])

    def test_nothing(self):
        self.assertEqual(read_contacts(b"name,mail\n"), [])


class Mistakes(unittest.TestCase):
    def refused(self, data):
        with self.assertRaises(ImportFailed) as caught:
            read_contacts(data)
        return str(caught.exception)

    def test_a_missing_column_is_named(self):
        self.assertIn("mail", self.refused(b"name,phone\nAda,1\n"))
        self.assertIn("name", self.refused(b""))

    def test_a_short_row_is_named_with_its_line(self):
        self.assertIn("line 3", self.refused(b"name,mail\nAda,ada@example.org\nBo\n"))

    def test_what_is_not_text(self):
        self.assertIn("UTF-8", self.refused(b"name,mail\n\xff,x\n"))
