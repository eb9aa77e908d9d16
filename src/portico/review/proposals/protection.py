"""Protected files: the person's allow and deny globs, and files of git and of secrets that no proposal may
change.

A denial always wins. Files of git and of secrets are denied whatever the lists say.
"""

import re
from functools import lru_cache

import msgspec

from portico.domain.secret_files import is_private, plain_name


class Protection(msgspec.Struct, frozen=True):
    """Globs over paths in the workspace. With any in `allow`, only what they match may be changed.

    `*` and `?` stay within a name, `**` crosses folders. A glob without a slash is about names at any depth,
    and one that matches a folder is about everything in it. With `run_filters`, programs of the repository may
    convert changed files when the person has them committed.
    """

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    run_filters: bool = False

    def reason_against(self, path: str) -> str | None:
        """The reason why a path must not be changed; None if it may."""
        parts = path.split("/")
        if any(plain_name(part) in {".git", "git~1"} for part in parts):
            return "It belongs to git itself and cannot be applied."
        if is_private(parts):
            return "It may hold secrets and cannot be applied."
        # What forgiving file systems take for one name is denied under each of its spellings.
        plain = "/".join(map(plain_name, parts))
        denied = next(
            (one for one in self.deny if _matches(one, path) or _matches(one.casefold(), plain)), None
        )
        if denied is not None:
            return f"Your settings deny changes to {denied}, so it cannot be applied."
        if self.allow and not any(_matches(glob, path) for glob in self.allow):
            return "It is outside what your settings allow to be changed, so it cannot be applied."
        return None


def _matches(glob: str, path: str) -> bool:
    return _pattern(glob).fullmatch(path) is not None


@lru_cache(maxsize=512)
def _pattern(glob: str) -> re.Pattern[str]:
    plain = glob.strip("/")
    anywhere = "/" not in plain and not glob.startswith("/")
    written = re.sub(
        r"\*\*/|\*\*|\*|\?|[^*?]+", lambda found: _WILD.get(found[0], re.escape(found[0])), plain
    )
    return re.compile(f"{'(?:.*/)?' if anywhere else ''}{written}(?:/.*)?", re.DOTALL)


_WILD = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
