"""Where the daemon is."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import stat
import struct
from collections.abc import Mapping
from contextlib import contextmanager
from collections.abc import Iterator

from ._errors import CroftError

# How long the path of a socket may be for the kernel.
_max_path = 103


def state_dir(env: Mapping[str, str]) -> str:
    """The directory that Croft keeps its state in."""
    return env.get("CROFT_STATE_DIR") or _usual_state(env)


def _usual_state(env: Mapping[str, str]) -> str:
    base = env.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(env.get("HOME") or os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "croft")


def socket_paths(env: Mapping[str, str]) -> list[str]:
    """Where the daemon may listen: where it said that it does, then where one would."""
    if env.get("CROFT_SOCKET"):
        return [env["CROFT_SOCKET"]]
    state = os.path.normpath(os.path.abspath(state_dir(env)))
    paths = []
    try:
        with open(os.path.join(state, "run", "daemon.json"), encoding="utf-8") as f:
            said = json.loads(f.read(1 << 16)).get("socket")
        if isinstance(said, str) and os.path.isabs(said):
            paths.append(said)
    except (OSError, ValueError, AttributeError):
        pass  # no daemon has run, or its file is broken
    rule = _by_rule(env, state)
    return paths if rule in paths else [*paths, rule]


def _by_rule(env: Mapping[str, str], state: str) -> str:
    runtime = env.get("XDG_RUNTIME_DIR", "")
    if not os.path.isabs(runtime) or not _is_private(runtime):
        return os.path.join(state, "run", "daemon.sock")
    name = "daemon.sock"
    if state != os.path.normpath(_usual_state(env)):
        name = f"daemon-{hashlib.sha256(os.fsencode(state)).hexdigest()[:12]}.sock"
    return os.path.join(runtime, "croft", name)


def _is_private(path: str) -> bool:
    """Whether a path is a directory of this user that no other one may enter."""
    try:
        info = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid() and info.st_mode & 0o077 == 0


def dial(paths: list[str], timeout: float | None) -> socket.socket:
    """Connects to the first socket of the paths at which a process of this user listens."""
    failure: OSError = FileNotFoundError("no socket")
    for path in paths:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.settimeout(timeout)
            with _short(path) as name:
                sock.connect(name)
            check_peer(sock)
            return sock
        except OSError as e:
            sock.close()
            failure = e
        except BaseException:
            sock.close()
            raise
    raise failure


def check_peer(sock: socket.socket) -> None:
    """Refuses a socket at which another user listens, where the system tells."""
    if not hasattr(socket, "SO_PEERCRED"):
        return
    _, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    if uid != os.geteuid():
        raise CroftError("ACCESS_DENIED", f"user {uid} is at the other end of the socket")


@contextmanager
def _short(path: str) -> Iterator[str]:
    """A path for a socket that the kernel takes: through its directory if it is too long."""
    if len(os.fsencode(path)) <= _max_path or not hasattr(os, "O_PATH"):
        yield path
        return
    fd = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{fd}/{os.path.basename(path)}"
    finally:
        os.close(fd)
