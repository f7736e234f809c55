"""The client."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any

from ._events import Follower, follow_async
from ._events import follow as follow_events
from ._generated import Calls, Event, EventKind, From, Merge, T
from ._model import segment
from ._transport import Transport
from ._workspace import Existing, Held, OnSuccess

# How long one request waits for the end of a merge.
_wait = 30.0


class Croft(Calls):
    """A client of Croft's daemon. Threads may share it.

    It finds the daemon by itself: at CROFT_SOCKET, or at CROFT_URL with CROFT_TOKEN, or where
    `croft serve` listens for this user.

      dir: requests that name no project mean the one that this directory lies in; None: they
        have to name one
      actor: who acts, for the history; default: the user of the daemon
      patience: for how many seconds a call is made again while a daemon that has answered
        before is away
      env: instead of the environment of this process
    """

    def __init__(self, dir: str | os.PathLike[str] | None = ".", *, actor: str | None = None, patience: float = 5.0, env: Mapping[str, str] | None = None) -> None:
        at = None if dir is None else os.fspath(dir)
        self._transport = Transport(env=os.environ if env is None else env, dir=at, actor=actor, patience=patience)

    def __enter__(self) -> Croft:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections. The client can still be used, and makes new ones."""
        self._transport.close()

    @property
    def is_local(self) -> bool:
        """Whether the daemon is reached by a socket of this machine."""
        return self._transport.is_local

    def _send(self, method: str, path: str, fields: dict[str, Any], answer: type[T], wait: float | None = None) -> T:
        raw = self._transport.send(method, path, fields, wait)
        return None if raw is None else answer.of(raw)  # type: ignore[return-value]

    def workspace(
        self,
        name: str,
        *,
        repo: str | None = None,
        on_success: OnSuccess = "keep",
        existing: Existing = "refuse",
        ttl: timedelta | None = None,
        on_lost: Callable[[], object] | None = None,
        message: str | None = None,
        **create: Any,
    ) -> Held:
        """A workspace for a block of code: `with croft.workspace("fix-login") as ws:`.

        It is made, and leased as long as the block runs. When the block ends, its uncommitted
        work is committed; with on_success="merge" it is merged, and the block ends with the
        merge, which `ws.merge` has. If the block raises, the workspace is kept with its work.

          existing: "take": if there is a workspace of this name, that one
          on_lost: called by another thread when the lease was lost; `ws.lost` is set too
          message: of the commit
          create: the other arguments of `create`
        """
        return Held(self, name, on_success=on_success, existing=existing, ttl=ttl, on_lost=on_lost, message=message, create={"repo": repo, **create})

    def wait_merge(self, merge: str, *, timeout: float | None = None) -> Merge:
        """Waits until a merge has ended, over restarts of the daemon too.

        Its status says how: "merged", or "pending" with the reason why it could not be merged.
        Raises TimeoutError if it takes longer than so many seconds.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _wait if until is None else min(_wait, until - time.monotonic())
            found = self._send("GET", f"/v1/merges/{segment(merge)}/wait", {}, Merge, max(left, 1.0))
            if found.state == "done":
                return found
            if until is not None and time.monotonic() >= until:
                raise TimeoutError(f"merge {merge} is {found.state}")

    def events(
        self,
        *,
        after: str | None = None,
        from_: From | None = None,
        repo: str | None = None,
        kinds: Sequence[EventKind] | None = None,
        follow: bool = True,
        patience: float | None = None,
    ) -> Iterator[Event]:
        """Yields events in order, each once, and then those that happen.

        When the daemon restarts, they go on after the last one that was seen.

          after: the cursor of an event or of a list
          from_: "now": only those after this call; default: from the oldest one that is kept
          repo: the ID of a project, as in Workspace.repoId; default: all projects, whatever this client is of
          kinds: only these
          follow: False: end with the last event that there is
          patience: for how many seconds the daemon may be away; default: that of the client
        """
        if from_ == "now" and not after:
            after, from_ = self.cursor(), None  # what happens before the first event is asked for is in the stream
        return follow_events(self._follower(after, from_, repo, kinds, follow, patience))

    def events_async(
        self,
        *,
        after: str | None = None,
        from_: From | None = None,
        repo: str | None = None,
        kinds: Sequence[EventKind] | None = None,
        follow: bool = True,
        patience: float | None = None,
    ) -> AsyncIterator[Event]:
        """The same as events, for asyncio: `async for event in croft.events_async():`.

        With from_="now" they begin when the daemon is first asked for one.
        """
        return follow_async(self._follower(after, from_, repo, kinds, follow, patience))

    def _follower(self, after: str | None, from_: str | None, repo: str | None, kinds: Sequence[str] | None, follow: bool, patience: float | None) -> Follower:
        fields = {"after": after, "from": from_, "repo": repo, "kinds": kinds, "follow": "new" if follow else "none"}
        return Follower(self._transport, fields, self._transport.patience if patience is None else patience)

    def cursor(self) -> str | None:
        """The place in the stream of events that the present is at."""
        # A stream begins with it, also for the token of a workspace, which may list no sessions.
        f = self._follower(None, "now", None, None, False, None)
        for _ in follow_events(f):
            pass
        return f.last or None
