"""Workspace files that make a program run something or grant something, recognised by name.

An agent does not write them unasked, a rule covers them only by name, and a proposal marks them.
"""

from collections.abc import Sequence

from portico.domain.secret_files import plain_name

_FOLDERS = {
    **dict.fromkeys((".portico",), "Portico"),
    **dict.fromkeys((".vscode", ".idea", ".fleet", ".vs", ".zed", ".devcontainer"), "an editor"),
    **dict.fromkeys(
        (
            ".agents",
            ".claude",
            ".cursor",
            ".codex",
            ".gemini",
            ".opencode",
            ".qwen",
            ".windsurf",
            ".continue",
            ".roo",
            ".kiro",
        ),
        "a coding agent",
    ),
    **dict.fromkeys((".git", "git~1", ".husky", ".githooks"), "git"),
    **dict.fromkeys((".mise", ".direnv"), "a shell"),
}
_FILES = {
    **dict.fromkeys((".gitattributes", ".gitmodules", ".gitconfig"), "git"),
    **dict.fromkeys((".pre-commit-config.yaml", ".pre-commit-config.yml"), "git"),
    **dict.fromkeys(("lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml"), "git"),
    **dict.fromkeys((".mcp.json", ".aider.conf.yml", "opencode.json", "opencode.jsonc"), "a coding agent"),
    **dict.fromkeys(
        (".dir-locals.el", ".dir-locals-2.el", ".exrc", ".vimrc", ".nvimrc", ".nvim.lua"), "an editor"
    ),
    **dict.fromkeys((".envrc", "mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml"), "a shell"),
    **dict.fromkeys((".bashrc", ".bash_profile", ".bash_login", ".profile"), "a shell"),
    **dict.fromkeys((".zshrc", ".zshenv", ".zprofile", ".zlogin"), "a shell"),
}
_EDITOR_ENDING = ".code-workspace"
# Names that mean this only in their folder.
_PAIRS = {
    (".cargo", "config"): "Cargo",
    (".cargo", "config.toml"): "Cargo",
    (".hg", "hgrc"): "Mercurial",
}


def controlling_program(parts: Sequence[str]) -> str | None:
    """The program that acts on the file at a path; None for a file that is not protected."""
    names = [plain_name(part) for part in parts if part]
    if not names:
        return None
    for name in names:
        if name in _FOLDERS:
            return _FOLDERS[name]
    if tuple(names[-2:]) in _PAIRS:
        return _PAIRS[names[-2], names[-1]]
    return "an editor" if names[-1].endswith(_EDITOR_ENDING) else _FILES.get(names[-1])
