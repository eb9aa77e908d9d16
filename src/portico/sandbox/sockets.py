"""Private folder for sockets through which confined programs reach this process."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path


@cache
def socket_folder() -> Path:
    """A folder that only this user can enter, made when it is first needed and gone with this process."""
    folder = Path(tempfile.mkdtemp(prefix="portico-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
