"""Files of a workspace that make a program of the person's run something, or that grant something, by their names.

An agent does not write them unasked, a rule covers them only by name, and a proposal marks them.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from portico.domain.privacy import plain_name

_FOLDERS = {
    **dict.fromkeys((".portico",), "Portico"),
    **dict.fromkeys((".vscode", ".idea", ".fleet", ".vs", ".zed", ".devcontainer"), "an editor"),
    **dict.fromkeys(
        (
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
    **dict.fromkeys(("lefthook.y*ml", ".lefthook.y*ml"), "git"),
    **dict.fromkeys((".mcp.json", ".aider.conf.yml", "opencode.json", "opencode.jsonc"), "a coding agent"),
    **dict.fromkeys(
        ("*.code-workspace", ".dir-locals*.el", ".exrc", ".vimrc", ".nvimrc", ".nvim.lua"), "an editor"
    ),
    **dict.fromkeys(
        (".envrc", "mise.toml", ".mise*.toml", "mise.*.toml", ".bashrc", ".bash_profile"), "a shell"
    ),
    **dict.fromkeys((".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin"), "a shell"),
}
# Names that mean this only in their folder.
_PAIRS = {
    (".cargo", "config"): "Cargo",
    (".cargo", "config.toml"): "Cargo",
    (".hg", "hgrc"): "Mercurial",
}


def obeyed_by(parts: Sequence[str]) -> str | None:
    """Which program does what the file at a path says; None for a file that is not protected."""
    names = [plain_name(part) for part in parts if part]
    if not names:
        return None
    for name in names:
        if name in _FOLDERS:
            return _FOLDERS[name]
    if tuple(names[-2:]) in _PAIRS:
        return _PAIRS[names[-2], names[-1]]
    return next((program for glob, program in _FILES.items() if fnmatchcase(names[-1], glob)), None)
