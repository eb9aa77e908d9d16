"""Task: edit a file with CRLF line ends and keep them."""

from portico.porter.evaluation.task import EvaluationTask, ScriptedStep, call, edit

_INI = "[server]\r\nhost = 127.0.0.1\r\nport = 8080\r\n\r\n[log]\r\nlevel = info\r\n"
_CHECK = """import configparser, pathlib, unittest

class Check(unittest.TestCase):
    def test_every_line_ends_as_before(self):
        data = pathlib.Path("server.ini").read_bytes()
        self.assertEqual(data.count(b"\\n"), data.count(b"\\r\\n"))

    def test_values(self):
        found = configparser.ConfigParser()
        found.read("server.ini")
        self.assertEqual(dict(found["server"]), {"host": "127.0.0.1", "port": "9090", "workers": "4"})
        self.assertEqual(dict(found["log"]), {"level": "info"})

unittest.main()
"""

TASK = EvaluationTask(
    name="crlf-file",
    purpose="edit a file with CRLF line ends and keep them",
    files={"server.ini": _INI},
    prompts=("In server.ini set the port to 9090 and add workers = 4 below it. Leave all else as it is.",),
    check=_CHECK,
    script=(
        ScriptedStep(calls=(call("read", path="server.ini"),)),
        ScriptedStep(
            calls=(edit("server.ini", ("port = 8080\n\n[log]", "port = 9090\nworkers = 4\n\n[log]")),),
            sees=("port = 8080",),
        ),
        ScriptedStep(says="Port 9090 and four workers.", sees=("Changed server.ini",)),
    ),
)
