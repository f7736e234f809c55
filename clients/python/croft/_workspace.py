"""A workspace for as long as a block of code needs it."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from ._errors import CroftError
from ._generated import Lease, Merge, Owner, Workspace

if TYPE_CHECKING:
    from ._client import Croft

OnSuccess = Literal["keep", "merge"]
Existing = Literal["refuse", "take"]


class Held:
    """A workspace whose lease is held, and renewed in the background.

    As a context manager it ends the lease with the block. It has the fields of the workspace:
    `ws.path`, `ws.env`, `ws.branch`.
    """

    #: The workspace as it was when the block began.
    workspace: Workspace
    lease: Lease
    #: Set when the lease was lost, or could not be renewed in time: the work in the block should end.
    lost: threading.Event
    #: What became of the work, once the block has ended.
    merge: Merge | None

    def __init__(
        self,
        croft: Croft,
        name: str,
        *,
        on_success: OnSuccess,
        existing: Existing,
        ttl: timedelta | None,
        on_lost: Callable[[], object] | None,
        message: str | None,
        create: dict[str, Any],
    ) -> None:
        self._croft = croft
        self._name = name
        self._on_success = on_success
        self._existing = existing
        self._ttl = ttl
        self._on_lost = on_lost
        self._message = message
        self._create = create
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.lost = threading.Event()
        self.merge = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "workspace" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.workspace, name)

    def __enter__(self) -> Held:
        try:
            self.workspace = self._croft.create(name=self._name, **self._create)
        except CroftError as e:
            if e.code != "WORKTREE_EXISTS" or self._existing != "take":
                raise
            self.workspace = self._croft.get_workspace(f"name:{self._name}", repo=self._create.get("repo"))
        self._taken = time.monotonic()
        self.lease = self._croft.take_lease(
            f"id:{self.workspace.id}", repo=self.workspace.repo, owner=self._owner(), ttl=self._ttl, mode="exclusive"
        )
        self._thread = threading.Thread(target=self._renew, name=f"croft lease of {self._name}", daemon=True)
        self._thread.start()
        return self

    def _owner(self) -> Owner:
        # The daemon sees a process on its own machine; of another machine it only believes the
        # time until which the lease was renewed.
        host = "" if self._croft.is_local else socket.gethostname()
        return Owner(host=host, pid=os.getpid())

    def _renew(self) -> None:
        ttl = (self.lease.ttl or timedelta(minutes=1)).total_seconds()
        every = pause = ttl / 3
        since = self._taken
        while not self._stop.wait(pause):
            asked = time.monotonic()
            try:
                with self._croft._transport.within(every):  # a daemon that does not answer must not keep the loss back
                    self._croft.renew(self.lease.id)
                since, pause = asked, every
            except Exception as e:  # whatever it is, nobody else renews the lease
                if isinstance(e, CroftError) and e.code == "LEASE_LOST" or time.monotonic() - since >= ttl:
                    self.lost.set()
                    if self._on_lost is not None:
                        self._on_lost()
                    return
                pause = min(every, 1.0)  # the daemon is away; the lease lives on until it expires

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if kind is None:
            self._finish("succeeded", self._on_success)
            return
        try:
            self._finish("failed" if issubclass(kind, Exception) else "killed", "keep")
        except CroftError as e:
            if error is not None:
                error.add_note(f"and the workspace {self._name!r} could not be finished: {e}")

    def _finish(self, outcome: Any, policy: Any) -> None:
        # A lease that was lost is refused, and nothing is committed.
        merge = self._croft.finish("", repo=self.workspace.repo, lease=self.lease, outcome=outcome, policy=policy, message=self._message)
        if merge is not None and merge.id:
            self.merge = self._croft.wait_merge(merge.id)
