"""What an agent is told to do: the keys of a script, and whether it keeps to them."""

from __future__ import annotations

import json

from portico.testing.agent import files, flow, misdeeds, requests, tools, updates
from portico.testing.agent.vocabulary import Steps, Verb, problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from portico.testing.agent.wire import Json

VERBS: dict[str, Verb] = {
    **updates.VERBS, **requests.VERBS, **tools.VERBS, **flow.VERBS, **misdeeds.VERBS
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
    "on_initialize?": Steps,
    "on_authenticate?": Steps,
    "on_logout?": Steps,
    "on_new?": Steps,
    "on_load?": Steps,
    "on_resume?": Steps,
    "on_fork?": Steps,
    "on_list?": Steps,
    "on_close?": Steps,
    "on_delete?": Steps,
    "on_set_mode?": Steps,
    "on_set_config_option?": Steps,
    "on_prompt?": list,
    "on_cancel?": Steps,
}


class ScriptError(ValueError):
    """The script is wrong; its author must change it."""


def check_script(script: object) -> None:
    found = list(problems(script, SHAPE, "the script", VERBS))
    prompts = script.get("on_prompt", []) if isinstance(script, dict) else []
    for index, steps in enumerate(prompts if isinstance(prompts, list) else []):
        found.extend(problems(steps, Steps, f"the script.on_prompt[{index}]", VERBS))
    if found:
        raise ScriptError("; ".join(found))


def check_steps(steps: object) -> None:
    found = list(problems(steps, Steps, "the prompt", VERBS))
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
