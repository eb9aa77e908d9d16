"""Entries of the catalog: the agents, models, providers, scenarios, prompts and suggestions to choose from."""

from typing import Literal

import msgspec


class AgentEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An agent: its command, and whether it can be started. `hint` says how to install or repair it."""

    name: str
    command: tuple[str, ...]
    installed: bool
    default: bool = False
    hint: str | None = None
    problem: str | None = None


class Suggestion(msgspec.Struct, frozen=True):
    """A thing to do in a folder. `detail` says what of the folder it fits; `prompt` asks for it."""

    title: str
    detail: str
    prompt: str


class ModelEntry(msgspec.Struct, frozen=True):
    """A model, as `provider:model`. `window` is in tokens, None if unknown."""

    name: str
    about: str = ""
    window: int | None = None
    tools: bool = True
    images: bool = True


class ListedScenario(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario of Porter; `model` is empty if any will do."""

    name: str
    description: str
    model: str = ""
    is_default: bool = False


class SkillEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An Agent Skill, where it is from, and whether agents may use it. One with a `problem` cannot be used.

    `source` has the version of a package; `state` is on, not_allowed, changed, denied or broken.
    """

    skill_id: str
    name: str
    source: str
    state: str
    description: str = ""
    fingerprint: str = ""
    problem: str = ""


class DownloadEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A model that runs on this machine once it is downloaded, which it is if `done`. `size` is in bytes."""

    name: str
    title: str
    size: int
    license: str
    origin: str
    abilities: str
    done: bool


class ProviderEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A provider of models. `key_variable` is empty if it takes no key; its usual model comes first."""

    name: str
    title: str
    ready: bool
    detail: str
    key_variable: str = ""
    needs_key: bool = False
    has_key: bool = False
    models: tuple[str, ...] = ()
    downloads: tuple[DownloadEntry, ...] = ()


class ModelServerEntry(msgspec.Struct, frozen=True):
    """A program that serves models at an address. Without `models`, it wants a key first."""

    title: str
    address: str
    models: tuple[str, ...] = ()


class ProviderCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Answer of a provider about a key. Name, address and variable are those for the person's own server."""

    verdict: Literal["accepted", "refused", "unknown"]
    detail: str = ""
    models: tuple[str, ...] = ()
    provider: str = ""
    address: str = ""
    key_variable: str = ""


class PromptEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A prompt kept as a file. `problem` says why it cannot be used."""

    name: str
    description: str
    origin: Literal["workspace", "user", "built-in"]
    path: str
    problem: str = ""
    tags: tuple[str, ...] = ()
    version: str = ""
    variables: tuple["PromptBlank", ...] = ()
    model: str = ""
    mode: str = ""
    output: str = ""
    budget: str = ""
    fingerprint: str = ""
    warnings: tuple[str, ...] = ()


class PromptBlank(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A place in a prompt for the person to fill in, or may do if it has a default.

    `session` is its value in the session variables, which comes before the default.
    """

    name: str
    description: str = ""
    default: str | None = None
    session: str | None = None
