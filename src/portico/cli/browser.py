"""Opens the chat page in the default browser."""

import sys
import threading
from collections.abc import Mapping


def open_browser(url: str, environ: Mapping[str, str]) -> threading.Thread | None:
    """Ask the browser to show an address, beside everything else: some come back only when they are closed."""
    if not _has_display(environ):
        return None
    opening = threading.Thread(target=_open, args=(url,), name="opening the browser", daemon=True)
    opening.start()
    return opening


def _open(url: str) -> None:
    import webbrowser

    try:
        webbrowser.open(url)
    except (OSError, webbrowser.Error):
        return  # the address has been printed


def _has_display(environ: Mapping[str, str]) -> bool:
    if sys.platform in ("darwin", "win32"):
        return True
    return any(environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
