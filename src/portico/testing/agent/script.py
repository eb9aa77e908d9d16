"""Keys of a script, and the check that a script is valid."""

from __future__ import annotations

import json

from portico.testing.agent import client_requests, control_flow, faults, files, mcp_tools, updates
from portico.testing.agent.vocabulary import StepList, Verb, problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from portico.testing.agent.wire import Json

VERBS: dict[str, Verb] = {
    **updates.VERBS, **client_requests.VERBS, **mcp_tools.VERBS, **control_flow.VERBS, **faults.VERBS
}  # fmt: skip

SHAPE = {
    "protocol_version?": int,
    "capabilities?": dict,
    "auth_methods?": list,
    "auth_required?": bool,
    "modes?": list,
    "config_options?": list,
    "page_size?": int,
    "reopens_unknown?": bool,
    "on_initialize?": StepList,
    "on_authenticate?": StepList,
    "on_logout?": StepList,
    "on_new?": StepList,
    "on_load?": StepList,
    "on_resume?": StepList,
    "on_fork?": StepList,
    "on_list?": StepList,
    "on_close?": StepList,
    "on_delete?": StepList,
    "on_set_mode?": StepList,
    "on_set_config_option?": StepList,
    "on_prompt?": list,
    "on_cancel?": StepList,
}


class ScriptError(ValueError):
    """The script is wrong; its author must change it."""


def check_script(script: object) -> None:
    found = list(problems(script, SHAPE, "the script", VERBS))
    prompts = script.get("on_prompt", []) if isinstance(script, dict) else []
    for index, steps in enumerate(prompts if isinstance(prompts, list) else []):
        found.extend(problems(steps, StepList, f"the script.on_prompt[{index}]", VERBS))
    if found:
        raise ScriptError("; ".join(found))


def check_steps(steps: object) -> None:
    found = list(problems(steps, StepList, "the prompt", VERBS))
    if found:
        raise ScriptError("; ".join(found))


def parse_script(text: str) -> Json:
    """A whole script (an object), or the steps of every prompt (a list)."""
    try:
        parsed = json.loads(text)
    except ValueError as error:
        raise ScriptError(f"the script is not JSON: {error}") from error
    script = {"on_prompt": [parsed]} if isinstance(parsed, list) else parsed
    check_script(script)
    return script


def read_script(path: str) -> Json:
    return parse_script(files.read(path).decode())
