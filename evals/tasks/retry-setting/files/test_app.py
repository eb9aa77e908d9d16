import pathlib
import unittest

from app import client
from app.client import Client
from app.config import Config, ConfigError, parse


class Broken:
    def __init__(self, failures):
        self.failures = failures
        self.attempts = 0

    def __call__(self, address, words):
        self.attempts += 1
        if self.attempts <= self.failures:
            raise ConnectionError("broken")
        return (address, words)


class Settings(unittest.TestCase):
    def test_default(self):
        self.assertEqual(Config().retries, 2)
        self.assertEqual(parse("").retries, 2)

    def test_the_file_shows_every_default(self):
        text = pathlib.Path("app.ini").read_text()
        self.assertEqual(parse(text), Config())
        self.assertIn("retries", text.partition("[log]")[0])

    def test_values(self):
        self.assertEqual(parse("[network]\nretries = 0").retries, 0)
        self.assertEqual(parse("[network]\nretries = 10").retries, 10)
        for bad in ("-1", "11", "many", ""):
            with self.assertRaises(ConfigError, msg=bad):
                parse(f"[network]\nretries = {bad}")


class Requests(unittest.TestCase):
    def test_the_setting_counts(self):
        for retries, failures in ((0, 0), (2, 2), (7, 7)):
            send = Broken(failures)
            found = Client(Config(retries=retries), send).request("hello")
            self.assertEqual(found, (("localhost", 8080), "hello"))

    def test_it_gives_up_after_the_last_attempt(self):
        send = Broken(100)
        with self.assertRaises(ConnectionError):
            Client(parse("[network]\nretries = 3"), send).request("hello")
        self.assertEqual(send.attempts, 4)

    def test_there_is_no_constant_left(self):
        self.assertFalse(hasattr(client, "RETRIES"))
