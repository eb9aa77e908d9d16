"""The built-in components, in their order from the client to the agent.

A new one takes a line in `built_in_components`. One that needs nothing is named by its class, as
`BuiltInComponent(component_class("portico.components.history.component:HistoryComponent"))`; one that needs other
parts of the process gets them from a function of its own.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from portico.chains.component_registry import BuiltInComponent, ComponentRegistry, component_class
from portico.chains.options import ChainParts
from portico.components.component import Component
from portico.components.editor.component import EditorComponent
from portico.config.paths import config_folder
from portico.config.settings import load_settings
from portico.files.deadline import within_deadline
from portico.project.reported_problems import ReportedProblems
from portico.sessions.ports import EditorProvider

if TYPE_CHECKING:
    from portico.components.code.tree_files import FileSources
    from portico.editors.buffers import EditorWindows
    from portico.sessions.code_servers import CodeServers


def open_components(
    environ: Mapping[str, str],
    local_editor: Callable[[], EditorProvider],
    windows: "EditorWindows | None" = None,
) -> ComponentRegistry:
    """The components of this process. `windows` are those that editors can attach to it."""
    reported = ReportedProblems()
    return ComponentRegistry(
        {
            "editor": BuiltInComponent(partial(EditorComponent, local_editor), is_adapter=True),
            # Before all others, whose edits and commands it holds back.
            "align-first": BuiltInComponent(
                component_class("portico.components.alignment.component:AlignFirstComponent"), on=False
            ),
            "code": BuiltInComponent(partial(_code, environ, windows, reported)),
            "editor-tools": BuiltInComponent(partial(_editor_tools, windows)),
            "skills": BuiltInComponent(
                component_class("portico.components.skills.component:SkillsComponent")
            ),
            "history": BuiltInComponent(
                component_class("portico.components.history.component:HistoryComponent")
            ),
            "build": BuiltInComponent(partial(_build, reported)),
            "memory": BuiltInComponent(
                component_class("portico.components.memory.component:MemoryComponent"), on=False
            ),
            "tours": BuiltInComponent(component_class("portico.components.tours.component:ToursComponent")),
            # Last, next to the agent: other tools must not join its research sessions.
            "packages": BuiltInComponent(
                component_class("portico.components.packages.component:PackagesComponent")
            ),
        }
    )


async def find_code_servers(parts: ChainParts, workspace: Path) -> "CodeServers | None":
    """The language servers of the component `code`; None where it is off, or has none."""

    def find() -> "CodeServers | None":
        from portico.components.code.component import CodeComponent

        settings = load_settings(config_folder(parts.environ), workspace)
        for choice in parts.components.chosen(settings, parts.options.components):
            if choice.name == "code":
                component = parts.components.component(choice, settings.trusted_packages)
                assert isinstance(component, CodeComponent)
                return component.servers(workspace, parts.environ)
        return None

    return await within_deadline(find)


def _build(reported: ReportedProblems) -> Component:
    from portico.components.build.component import BuildComponent

    return BuildComponent(reported)


def _code(
    environ: Mapping[str, str], windows: "EditorWindows | None", reported: ReportedProblems
) -> Component:
    from portico.components.code.component import CodeComponent, ServerSource
    from portico.editors.language_servers.programs import has_servers

    source = ServerSource(has_servers, partial(_language_servers, environ))
    attached = None if windows is None else windows.windows
    return CodeComponent(partial(_file_sources, windows), source, attached, reported)


def _language_servers(environ: Mapping[str, str]) -> "CodeServers":
    from portico.editors.language_servers.servers import LanguageServers
    from portico.processes.clock import SystemClock

    return LanguageServers(environ, SystemClock())


def _file_sources(windows: "EditorWindows | None") -> "FileSources":
    from portico.components.code.tree_files import FileSources
    from portico.editors.files import LocalFiles

    of_session = (lambda _, workspace: LocalFiles(workspace)) if windows is None else windows.editors.files
    return FileSources(of_session, LocalFiles)


def _editor_tools(windows: "EditorWindows | None") -> Component:
    from portico.components.editor_tools.component import EditorToolsComponent

    return EditorToolsComponent(None if windows is None else windows.windows)
