"""OpenCode, a foreign agent that writes files and runs commands by itself, with a scripted model behind it."""

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

from tests.support.model_endpoint import Answer, Call, ModelEndpoint, Received, Reply, Say

_PACKAGES = Path(__file__).parents[1] / "peers" / "node_modules"


def opencode_command() -> str:
    """The program from npm's package for this platform, or else the one on PATH."""
    found = [str(path) for path in sorted(_PACKAGES.glob("opencode-*/bin/opencode"))]
    program = found[0] if found else shutil.which("opencode")
    assert program is not None, "npm has no OpenCode for this platform; have one on PATH"
    return shlex.join([program, "acp"])


def opencode_environ(endpoint: ModelEndpoint) -> dict[str, str]:
    """Variables that let OpenCode call only the endpoint, and act without asking a person."""
    model = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"{endpoint.address}/v1", "apiKey": "none"},
        "models": {"scripted": {"name": "Scripted"}},
    }
    config = {
        "provider": {"scripted": model},
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "permission": "allow",
        "autoupdate": False,
        "share": "disabled",
        **dict.fromkeys(("snapshot", "lsp", "formatter"), False),
    }
    switches = ("MODELS_FETCH", "AUTOUPDATE", "DEFAULT_PLUGINS", "LSP_DOWNLOAD")
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        **{f"OPENCODE_DISABLE_{name}": "1" for name in switches},
    }


def run_in_shell(endpoint: ModelEndpoint, command: str) -> list[str]:
    """Have the model call OpenCode's shell once; the list gets what the shell printed."""
    printed: list[str] = []
    call = Call("bash", json.dumps({"command": command, "description": "Do it"}))

    def answer(received: Received) -> Reply:
        messages: list[Any] = received.body["messages"]
        if not received.body.get("tools"):
            return Answer(Say("A title"))
        if messages[-1]["role"] != "tool":
            return Answer(call)
        printed.append(str(messages[-1]["content"]))
        return Answer(Say("Done."))

    endpoint.answer = answer
    return printed
