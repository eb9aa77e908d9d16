"""Task: add an option to a small command-line program."""

from portico.porter.evaluation.task import EvaluationTask, ScriptedStep, call, edit

_CODE = '''"""Greets people."""

import argparse


def greeting(name: str) -> str:
    return f"Hello, {name}."


def main() -> None:
    parser = argparse.ArgumentParser(description="Greets people.")
    parser.add_argument("names", nargs="+")
    flags = parser.parse_args()
    for name in flags.names:
        print(greeting(name))


if __name__ == "__main__":
    main()
'''
_CHECK = """import subprocess, sys, unittest

def run(*words):
    done = subprocess.run([sys.executable, "-B", "greet.py", *words], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()

class Check(unittest.TestCase):
    def test_loud(self):
        self.assertEqual(run("--shout", "Ada", "Bo"), ["HELLO, ADA.", "HELLO, BO."])

    def test_as_before(self):
        self.assertEqual(run("Ada"), ["Hello, Ada."])

    def test_help(self):
        self.assertIn("--shout", "\\n".join(run("--help")))

unittest.main()
"""

TASK = EvaluationTask(
    name="add-flag",
    purpose="add an option to a program, and leave the rest as it is",
    files={"greet.py": _CODE},
    prompts=(
        (
            "Add a flag --shout to greet.py that prints the greetings in capital letters. "
            "Without it nothing may change."
        ),
    ),
    check=_CHECK,
    script=(
        ScriptedStep(calls=(call("read", path="greet.py"),)),
        ScriptedStep(
            says="Two places: the parser and the output.",
            calls=(
                edit(
                    "greet.py",
                    (
                        '    parser.add_argument("names", nargs="+")\n',
                        (
                            '    parser.add_argument("names", nargs="+")\n'
                            '    parser.add_argument("--shout", action="store_true", help="in capital letters")\n'
                        ),
                    ),
                    (
                        "        print(greeting(name))\n",
                        (
                            "        text = greeting(name)\n"
                            "        print(text.upper() if flags.shout else text)\n"
                        ),
                    ),
                ),
            ),
            sees=("flags = parser.parse_args()",),
        ),
        ScriptedStep(says="`--shout` prints in capitals.", sees=("Changed greet.py in 2 places",)),
    ),
)
