"""Options of a run from the front matter of a prompt: model, mode, budget and output file."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from portico.config.model_settings import Allowance, budgets_of_environment
from portico.config.settings import Settings
from portico.domain.content_blocks import readable_size
from portico.domain.errors import InvalidInput
from portico.prompts.catalog import CatalogEntry
from portico.prompts.front_matter import READ_ONLY, FrontMatter

INPUT = "input"
"""The variable with the text that a prompt is run on."""
MAX_INPUT_BYTES = 4 * 1024 * 1024


def allowed_matter(
    entry: CatalogEntry, matter: FrontMatter, *, trusted: bool
) -> tuple[FrontMatter, tuple[str, ...]]:
    """Return what a prompt may decide, and warnings. One of an untrusted workspace can only restrict its run."""
    if entry.origin != "workspace" or trusted:
        return matter, ()
    ignored = ["model"] if matter.model is not None else []
    ignored += ["output"] if matter.output == "file" else []
    if matter.mode not in (None, READ_ONLY, "proposal"):
        ignored.append("mode")
    allowed = msgspec.structs.replace(
        matter,
        model=None,
        output="chat" if matter.output == "file" else matter.output,
        mode=None if "mode" in ignored else matter.mode,
    )
    listed = " and ".join(ignored)
    warning = f"Ignored {listed} of the prompt, because this folder is not trusted."
    return allowed, (warning,) if ignored else ()


def lowered_budget(matter: FrontMatter, settings: Settings, environ: Mapping[str, str]) -> Allowance:
    """Return the limits that the prompt has, each lowered to the usual one; None where it has none."""
    usual = Allowance(tokens=settings.budgets.turn.tokens, dollars=settings.max_cost_usd)
    lower = budgets_of_environment(environ).turn.over(usual).at_most(matter.budget)
    return Allowance(
        tokens=None if matter.budget.tokens is None else lower.tokens,
        dollars=None if matter.budget.dollars is None else lower.dollars,
    )


def default_output(entry: CatalogEntry, source: Path | None) -> Path:
    """Return the output file of a prompt that writes one: beside its source, or in the current folder."""
    name = f"{entry.name.replace('/', '-')}.md"
    return Path(name) if source is None else source.with_name(f"{source.stem}.{name}")


def too_large(what: str) -> InvalidInput:
    """Return the error for a value of a variable that is too large."""
    return InvalidInput(
        f"{what} is larger than {readable_size(MAX_INPUT_BYTES)}, the limit for the value of a variable.",
        suggestion="Use a part of it, or mention the file in the prompt as @path, so that the agent can read it.",
    )
