import unittest

from web.headers import Headers
from web.response import NotJson, Response


class HeaderNames(unittest.TestCase):
    def test_every_method_ignores_case(self):
        headers = Headers([("ETag", "1"), ("Accept", "*/*")])
        self.assertEqual(headers.get("etag"), "1")
        self.assertIn("ACCEPT", headers)
        headers.set("etag", "2")
        self.assertEqual((headers.get("ETag"), len(headers)), ("2", 2))
        headers.delete("aCCept")
        self.assertNotIn("Accept", headers)
        self.assertIsNone(headers.get("Accept"))
        headers.delete("Accept")

    def test_the_last_spelling_is_sent(self):
        headers = Headers([("x-id", "1"), ("Host", "a"), ("X-Id", "2")])
        self.assertEqual(sorted(headers.lines()), ["Host: a", "X-Id: 2"])


class Json(unittest.TestCase):
    def test_types_in_any_case(self):
        for name, value in (("content-type", "application/json"), ("Content-Type", "Application/JSON; charset=utf-8")):
            self.assertEqual(Response(200, [(name, value)], "[1]").json(), [1])

    def test_other_types(self):
        for headers in ([], [("Content-Type", "text/html")]):
            with self.assertRaises(NotJson):
                Response(200, headers, "[1]").json()
