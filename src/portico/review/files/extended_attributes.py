"""Extended attributes and access lists that a new file takes over from the one it replaces.

These are a person's or a program's own notes on it, and the list of who else may read it. Without that list the
bits for the group would mean another thing. What the system itself keeps there stays with the system.
"""

import errno
import os
import sys
from pathlib import Path

from portico.files import real_path
from portico.files.folders import FolderCache

_NOTES = "user."
_ACCESS = "system.posix_acl_access"
_IMPOSSIBLE = {errno.ENOTSUP, errno.EPERM, errno.EACCES, errno.ENODATA}

if sys.platform == "linux":

    def copy_attributes(source: Path, target: int, folders: FolderCache | None = None) -> None:
        """Copy the attributes of the file that is replaced, where both files can have them."""
        try:
            descriptor = real_path.open_file(source, folders=folders)
        except OSError:
            return  # It has gone, is a link, or may not be read.
        try:
            for name in _names(descriptor):
                try:
                    os.setxattr(target, name, os.getxattr(descriptor, name))
                except OSError as error:
                    if error.errno not in _IMPOSSIBLE:
                        raise
        finally:
            os.close(descriptor)

    def _names(descriptor: int) -> list[str]:
        try:
            names = os.listxattr(descriptor)
        except OSError:
            return []  # The file system knows no such thing.
        return [name for name in names if name == _ACCESS or name.startswith(_NOTES)]

else:

    def copy_attributes(source: Path, target: int, folders: FolderCache | None = None) -> None:
        """Give a new file what its forerunner has. Here Python knows no way to."""
