"""Task: propose a change of several files without writing any."""

from portico.porter.evaluation.task import EvaluationTask, ScriptedStep, call

_CHECK = """import pathlib, unittest
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
"""
_NEW = """import re

_ADDRESS = re.compile(r"[^@\\s]+@[^@\\s]+\\.[^@\\s.]+")


def is_address(text):
    return _ADDRESS.fullmatch(text) is not None
"""

TASK = EvaluationTask(
    name="propose-only",
    purpose="propose a change of several files without writing any",
    files={
        "mail.py": 'def is_address(text):\n    return "@" in text\n',
        "mail_old.py": "# what mail.py was before\ndef is_address(text):\n    return True\n",
    },
    prompts=(
        "Let is_address in mail.py accept only name@host.domain without spaces or a second @, and remove mail_old.py.",
    ),
    check=_CHECK,
    scenario="EDITOR_CODE",
    script=(
        ScriptedStep(calls=(call("read", path="mail.py"), call("read", path="mail_old.py"))),
        ScriptedStep(
            calls=(
                call(
                    "propose_changes",
                    changes=[
                        {"path": "mail.py", "operation": "create", "new_content": _NEW},
                        {"path": "mail_old.py", "operation": "delete"},
                    ],
                ),
            ),
            sees=('return "@" in text',),
        ),
        ScriptedStep(
            says="It exists, so it is an update.",
            calls=(
                call(
                    "propose_changes",
                    changes=[
                        {"path": "mail.py", "operation": "update", "new_content": _NEW},
                        {"path": "mail_old.py", "operation": "delete"},
                    ],
                ),
            ),
            sees=("exists already; use update",),
        ),
        ScriptedStep(
            says="Proposed: a stricter check, and one file less.", sees=("ready for the person's review",)
        ),
    ),
)
