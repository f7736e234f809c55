"""Requests to the daemon, sent again where that is safe."""

from __future__ import annotations

import http.client
import json
import os
import selectors
import socket
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode, urlsplit

from ._errors import CroftError, unreachable
from ._find import dial, socket_paths
from ._model import encode, query

# How long a connection attempt may take, and how long a call waits before the next attempt.
_connect_time = 10.0
_pause = 0.05
# An attempt that took longer ended because the daemon went away.
_long = 1.0


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a socket of the file system."""

    def __init__(self, env: Mapping[str, str]) -> None:
        super().__init__("croft")
        self._env = env

    def connect(self) -> None:
        self.sock = dial(socket_paths(self._env), _connect_time)


class Transport:
    """The way to one daemon. Threads may share it."""

    def __init__(self, *, env: Mapping[str, str], dir: str | None, actor: str | None, patience: float) -> None:
        self._env = env
        self._url = "" if env.get("CROFT_SOCKET") else env.get("CROFT_URL", "")
        self._token = env.get("CROFT_TOKEN", "")
        # In a workspace, this process acts for the agent of that.
        named = {"name": actor, "dir": dir and _absolute(dir), "from": None if self._url else _absolute(".")}
        self._actor = urlencode({name: value for name, value in named.items() if value})
        self.patience = patience
        self.has_answered = False
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._limits = threading.local()

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Has the calls that this thread makes in the block fail if they take longer."""
        self._limits.until = time.monotonic() + seconds
        try:
            yield
        finally:
            del self._limits.until

    def _left(self) -> float | None:
        """How long a call of this thread may take; None: as long as it likes."""
        until: float | None = getattr(self._limits, "until", None)
        return None if until is None else max(0.001, until - time.monotonic())

    def _is_over(self) -> bool:
        left = self._left()
        return left is not None and left <= 0.001

    @property
    def is_local(self) -> bool:
        """Whether the daemon sees the processes of this machine by their numbers."""
        return not self._url

    @property
    def host(self) -> str:
        """The name of the daemon in a request."""
        return urlsplit(self._url).netloc.rpartition("@")[2] if self._url else "croft"

    @property
    def where(self) -> str:
        """Where the daemon should be."""
        return self._url or ", ".join(socket_paths(self._env))

    def connection(self) -> http.client.HTTPConnection:
        """A connection of its own, which is not open yet."""
        if not self._url:
            return _UnixConnection(self._env)
        at = urlsplit(self._url)
        kind = http.client.HTTPSConnection if at.scheme == "https" else http.client.HTTPConnection
        return kind(at.hostname or "", at.port, timeout=_connect_time)

    def headers(self) -> dict[str, str]:
        """The headers that every request has."""
        headers = {}
        if self._token and self._url:
            headers["Authorization"] = f"Bearer {self._token}"
        if self._actor:
            headers["Croft-Actor"] = self._actor
        return headers

    def send(self, method: str, path: str, fields: Mapping[str, Any], wait: float | None) -> Any:
        """Makes a call and returns its answer.

        A call that only reads, and one that has a key, is made again while the daemon is away;
        any other one only if the daemon cannot have seen it.
        """
        headers = self.headers()
        body = None
        can_repeat = method == "GET"
        if wait:
            headers["Prefer"] = f"wait={max(1, round(wait))}"
        if method == "GET":
            pairs = query(fields)
            path += "?" + urlencode(pairs) if pairs else ""
        else:
            sent = dict(encode(fields))
            if "key" in fields:
                sent.setdefault("key", str(uuid.uuid4()))
                can_repeat = True
            body = json.dumps(sent).encode()
            headers["Content-Type"] = "application/json"
        until = time.monotonic() + self.patience
        while True:
            begun = time.monotonic()
            try:
                answer = self._once(method, path, headers, body)
                self.has_answered = True
                return answer
            except CroftError as e:
                until = self._prolong(until, begun)
                # The daemon stops: the next one answers.
                if e.code != "CLOSED" or not can_repeat or time.monotonic() >= until or self._is_over():
                    raise
            except _NotSent as e:
                if not self.has_answered or time.monotonic() >= until or self._is_over():
                    raise unreachable(self.where, e.__cause__) from e.__cause__
            except (OSError, http.client.HTTPException) as e:
                until = self._prolong(until, begun)
                if not can_repeat or time.monotonic() >= until or self._is_over():
                    raise _gone(e) from e
            time.sleep(_pause)

    def _prolong(self, until: float, begun: float) -> float:
        """Until when a call is made again, after an attempt that reached the daemon.

        The daemon was there as long as the attempt took, and has only now gone.
        """
        now = time.monotonic()
        return now + self.patience if now - begun > _long else until

    def _once(self, method: str, path: str, headers: dict[str, str], body: bytes | None) -> Any:
        conn = self._take()
        try:
            conn.sock.settimeout(self._left())  # a merge with its checks takes as long as it takes
            conn.request(method, path, body, headers)
            response = conn.getresponse()
            data = response.read()
        except BaseException:
            conn.close()
            raise
        if response.will_close:
            conn.close()
        else:
            self._give(conn)
        return read(response, data)

    def _take(self) -> http.client.HTTPConnection:
        """An open connection: one that is idle, or a new one."""
        if self._pid != os.getpid():  # after a fork: the connections are those of the parent
            self._idle, self._lock, self._pid = [], threading.Lock(), os.getpid()
        while True:
            with self._lock:
                conn = self._idle.pop() if self._idle else None
            if conn is None:
                break
            # Nothing is to be read from one that is alive.
            if conn.sock is not None and not _can_read(conn.sock):
                return conn
            conn.close()
        conn = self.connection()
        try:
            conn.connect()
        except OSError as e:
            conn.close()
            raise _NotSent from e
        return conn

    def _give(self, conn: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < 8:
                self._idle.append(conn)
                return
        conn.close()

    def close(self) -> None:
        """Closes the connections that are idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for conn in idle:
            conn.close()


def _absolute(dir: str) -> str | None:
    """The absolute path of a directory, unless the working directory was removed."""
    try:
        return os.path.abspath(dir)
    except OSError:
        return None


def _can_read(sock: socket.socket) -> bool:
    """Whether there is something to be read, or the other end is closed."""
    # select() refuses descriptors above 1023.
    kind = selectors.PollSelector if hasattr(selectors, "PollSelector") else selectors.SelectSelector
    with kind() as selector:
        selector.register(sock, selectors.EVENT_READ)
        return bool(selector.select(0))


class _NotSent(Exception):
    """The daemon cannot have seen the request."""


def _gone(cause: BaseException) -> CroftError:
    return CroftError(
        "CLOSED", "the daemon went away in the middle of the call", retryable=True,
        details=f"{cause!r}\nWhat the call had begun is finished or rolled back by the next process that opens Croft.",
        hint="croft serve --status",
    )


def read(response: http.client.HTTPResponse, data: bytes) -> Any:
    """Reads an answer, or raises its problem."""
    try:
        value = json.loads(data)
    except ValueError:
        value = None
    if 200 <= response.status < 300 and (value is not None or data.strip() == b"null"):
        return value
    if isinstance(value, dict) and "code" in value:
        raise CroftError.of(value, retryable=response.getheader("Retry-After") is not None)
    raise CroftError("INTERNAL", f"the daemon answered with {response.status} {response.reason}", status=response.status)
