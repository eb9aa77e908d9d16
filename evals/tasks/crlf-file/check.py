import configparser, pathlib, unittest

class Check(unittest.TestCase):
    def test_every_line_ends_as_before(self):
        data = pathlib.Path("server.ini").read_bytes()
        self.assertEqual(data.count(b"\n"), data.count(b"\r\n"))

    def test_values(self):
        found = configparser.ConfigParser()
        found.read("server.ini")
        self.assertEqual(dict(found["server"]), {"host": "127.0.0.1", "port": "9090", "workers": "4"})
        self.assertEqual(dict(found["log"]), {"level": "info"})

unittest.main()
