"""Runs of prompt files: filling one in, and recording what became of it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from portico.app.prompt_catalog import WorkspacePrompts
from portico.config.settings import Settings
from portico.domain.values import PromptReference
from portico.processes.garbage_collection import PausedCollection
from portico.prompts.catalog import CatalogEntry
from portico.prompts.front_matter import PromptVariable
from portico.prompts.output_file import OutputFile
from portico.prompts.prompt import CatalogPrompt, RenderedPrompt
from portico.prompts.provenance import PromptRun, RunProvenance
from portico.prompts.run_options import allowed_matter
from portico.prompts.session_variables import SessionVariables, load_session_variables


class FilledPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt of a folder with its values, and what they were taken from."""

    entry: CatalogEntry
    prompt: CatalogPrompt
    rendered: RenderedPrompt
    session: SessionVariables
    settings: Settings


def fill_prompt(
    prompts: WorkspacePrompts, name: str, read_values: Callable[[Sequence[PromptVariable]], Mapping[str, str]]
) -> FilledPrompt:
    """Fill in a prompt with values and the session variables of its folder.

    Values are read once the prompt is found, given the variables that have no value and no default.
    """
    settings = prompts.settings
    entry, prompt = prompts.catalog.find(name)
    session = load_session_variables(settings.session_variables, prompts.workspace, trusted=settings.trusted)
    needed = [one for one in prompt.variables if one.default is None and one.name not in session.values]
    rendered = prompt.fill(entry.name, read_values(needed), session.values)
    return FilledPrompt(entry=entry, prompt=prompt, rendered=rendered, session=session, settings=settings)


class PreparedRun:
    """A prompt that is ready to be sent: what it may decide, its output file, and the record of its run."""

    def __init__(self, filled: FilledPrompt, environ: Mapping[str, str]) -> None:
        entry, prompt = filled.entry, filled.prompt
        self.filled = filled
        self.matter, ignored = allowed_matter(entry, prompt.matter, trusted=filled.settings.trusted)
        self.source = PromptReference(name=entry.name, fingerprint=prompt.digest, version=self.matter.version)
        self.run = PromptRun(self.source, filled.rendered.variables)
        self.output: OutputFile | None = None
        self.written: Path | None = None
        self._environ = environ
        self._warnings = [*prompt.warnings, *filled.session.warnings, *ignored]

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._warnings))

    def record(
        self, text: str, *, agent: str, session_id: str, trace_id: str, has_cost_limit: bool
    ) -> RunProvenance:
        """Write the output file after the turn, if there is one, and return the provenance. It blocks."""
        run = self.run
        if agent == "porter" and run.model == "default":
            # Late: it loads the providers, and most agents name their model themselves.
            with PausedCollection():
                from portico.porter.models.selection import default_model

            run.model = default_model(self.filled.settings.model, self._environ)
        self._warnings += run.warnings
        if has_cost_limit and agent != "porter":
            self._warnings.append(
                f"The agent {agent} manages its own costs, so the cost limit is not checked."
            )
        provenance = run.provenance(agent=agent, session_id=session_id, trace_id=trace_id)
        if self.output is not None and text.strip():
            self.written = self.output.write(text, provenance)
            if self.written != self.output.path:
                why = "changed during the run" if provenance.complete else "has a complete answer"
                self._warnings.append(f"{self.output.path} {why}; this answer is in {self.written}.")
        return provenance
