"""Git options and environment variables under which git runs no programs, prompts for nothing and fetches
nothing.

A repository may name programs in its own config: hooks, monitors, pagers, signers, transports. What is set here
comes after every config file. Filters and merge drivers have names that only the repository knows, so no setting
can switch them off; commands that would run them work in a private git folder instead (`portico.git`).
"""

import os
from collections.abc import Mapping

_HOOK_EVENTS = ("reference-transaction", "post-index-change", "post-checkout", "pre-auto-gc")
SAFE_SETTINGS = (
    f"core.hooksPath={os.devnull}",
    *(f"hook.{event}.enabled=false" for event in _HOOK_EVENTS),  # Hooks that a config names, since git 2.54.
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.askPass=",
    "core.sshCommand=false",
    "credential.helper=",
    "commit.gpgSign=false",
    "log.showSignature=false",
    "diff.external=",
    "merge.renormalize=false",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
)
_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
}
_ASKING = {"SSH_ASKPASS", "PAGER", "EDITOR", "VISUAL"}


def safe_git_options() -> tuple[str, ...]:
    """The options between `git` and its command."""
    return ("--no-pager", *(word for setting in SAFE_SETTINGS for word in ("-c", setting)))


def safe_git_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment for git, without the variables that would choose programs or another repository."""
    kept = {
        name: value
        for name, value in environ.items()
        if not name.upper().startswith("GIT_") and name not in _ASKING
    }
    return kept | _VARIABLES
