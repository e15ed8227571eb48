"""A process whose SQLite dies in the middle of its n-th write to a file, having written half of it."""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Any

_WRITE = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_longlong)
_SET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_pointers = (
    "next", "name", "data", "open", "delete", "access", "full_pathname", "dl_open", "dl_error", "dl_sym", "dl_close",
    "randomness", "sleep", "current_time", "last_error", "current_time_64", "set_system_call",
)  # fmt: skip


class _Vfs(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int), ("file_size", ctypes.c_int), ("max_path", ctypes.c_int)] + [
        (name, ctypes.c_void_p) for name in _pointers
    ]


_kept: list[Any] = []


def library() -> Any | None:
    """The SQLite library that Python uses, or None where it is built into Python."""
    try:
        with open("/proc/self/maps") as maps:
            names = {line.split()[-1] for line in maps if "libsqlite3" in line}
    except OSError:
        return None
    return ctypes.CDLL(names.pop()) if names else None


def die_in_write(n: int) -> None:
    """From now on, let this process die in its ``n``-th write through SQLite (1 is the next)."""
    sqlite = library()
    assert sqlite is not None
    left = [n]

    def write(fd: int, data: int, size: int, offset: int) -> int:
        left[0] -= 1
        whole = ctypes.string_at(data, size)
        if left[0] == 0:
            os.pwrite(fd, whole[: size // 2], offset)
            os.kill(os.getpid(), signal.SIGKILL)
        return os.pwrite(fd, whole, offset)

    sqlite.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
    vfs = sqlite.sqlite3_vfs_find(None)
    callback = _WRITE(write)
    _kept.append(callback)
    for name in (b"pwrite", b"pwrite64"):
        _SET(vfs.contents.set_system_call)(ctypes.addressof(vfs.contents), name, ctypes.cast(callback, ctypes.c_void_p))
