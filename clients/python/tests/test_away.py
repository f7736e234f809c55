"""What a client does while the daemon is away, and about what an agent may ask."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import tempfile
import threading
import time
import unittest
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest import mock

from croft import Croft, CroftError, Event, _transport
from croft._events import Parser

from .daemon import DaemonTest


class QuietTest(DaemonTest):
    """A stream that is silent for longer than the patience goes on after a restart."""

    def test_events(self) -> None:
        seen: list[Event | BaseException] = []
        stream = self.croft.events(from_="now", kinds=["workspace.created"], patience=2)

        def read() -> None:
            try:
                seen.append(next(stream))
            except BaseException as e:
                seen.append(e)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        self.be_quiet_and_restart()
        reader.join(20)
        self.check(seen)

    def test_async_events(self) -> None:
        async def first() -> Event:
            async for event in self.croft.events_async(kinds=["workspace.created"], patience=2):
                return event
            raise AssertionError("the stream ended")

        async def both() -> Event:
            reader = asyncio.create_task(first())
            await asyncio.to_thread(self.be_quiet_and_restart)
            return await asyncio.wait_for(reader, 20)

        self.check([asyncio.run(both())])

    def be_quiet_and_restart(self) -> None:
        time.sleep(3)
        self.stop(signal.SIGKILL)
        self.start()
        self.croft.create(name="a")

    def check(self, seen: list[Any]) -> None:
        self.assertEqual([getattr(e, "workspace_name", e) for e in seen], ["a"])


class AgentTest(DaemonTest):
    """The token of a workspace reads events from now on, and lists no sessions."""

    flags = ["--tcp=127.0.0.1:0"]

    def setUp(self) -> None:
        super().setUp()
        self.croft.create(name="a")
        self.agent = Croft(None, env=self.token("workspace", "--workspace", "a", "-C", self.repo))
        self.addCleanup(self.agent.close)

    def test_events_from_now(self) -> None:
        stream = self.agent.events(from_="now")
        self.croft.update_workspace("a", meta={"k": "v"})
        self.assertEqual(next(stream).kind, "workspace.changed")
        stream.close()

    def test_async_events_from_now(self) -> None:
        async def first() -> Event:
            stream = self.agent.events_async(from_="now")
            event = asyncio.create_task(anext(stream))
            for _ in range(100):
                await asyncio.to_thread(self.croft.update_workspace, "a", meta={"k": str(time.monotonic())})
                done, _ = await asyncio.wait([event], timeout=0.1)
                if done:
                    break
            got = await event
            await stream.aclose()
            return got

        with mock.patch.object(self.agent, "_send", side_effect=AssertionError("a call that blocks the loop")):
            self.assertEqual(asyncio.run(first()).kind, "workspace.changed")


class PatienceTest(unittest.TestCase):
    """Patience is counted from when the daemon has gone."""

    def attempts(self, once: Callable[..., object], method: str = "POST", **fields: object) -> int:
        transport = _transport.Transport(env={"CROFT_SOCKET": "/none"}, dir=None, actor=None, patience=1)
        transport.has_answered = True
        with mock.patch.object(transport, "_once", side_effect=once) as tried:
            try:
                transport.send(method, "/v1/x", fields, None)
            except CroftError:
                pass
        return tried.call_count

    def test_a_long_call_is_made_again(self) -> None:
        calls: list[int] = []

        def once(*_: object) -> object:
            calls.append(0)
            if len(calls) == 1:
                time.sleep(1.3)
            if len(calls) < 3:
                raise ConnectionResetError
            return {}

        self.assertEqual(self.attempts(once, key="k"), 3)
        calls.clear()
        self.assertEqual(self.attempts(once, "GET"), 3)

    def test_a_daemon_that_takes_long_to_refuse_is_given_up(self) -> None:
        calls: list[int] = []

        def once(*_: object) -> object:
            calls.append(0)
            if len(calls) > 2:
                return {}
            time.sleep(1.3)
            raise _transport._NotSent from TimeoutError()

        self.assertEqual(self.attempts(once, key="k"), 1)


class RenewTest(DaemonTest):
    def test_many_descriptors(self) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (1200, hard))
        except ValueError:
            self.skipTest("the system allows too few descriptors")
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(1100):
            self.addCleanup(os.close, os.open(os.devnull, os.O_RDONLY))
        self.croft.close()
        for _ in range(3):
            self.assertEqual(self.croft.count_active(repo=self.repo).active, 0)

    def test_a_failure_does_not_end_the_renewing(self) -> None:
        whole, failures = Croft.renew, [ValueError("one"), OSError("two"), ZeroDivisionError("three")]

        def renew(croft: Croft, *args: Any, **more: Any) -> object:
            if failures:
                raise failures.pop()
            return whole(croft, *args, **more)

        with mock.patch.object(Croft, "renew", renew), self.croft.workspace("a", ttl=timedelta(seconds=6)) as ws:
            self.assertFalse(ws.lost.wait(9))
            self.assertEqual(failures, [])
            self.assertGreater(self.croft.get_workspace("a").lease.expires_at.timestamp(), time.time())

    def test_a_lease_that_was_not_renewed_in_time_is_lost(self) -> None:
        told = threading.Event()
        with mock.patch.object(Croft, "renew", side_effect=OSError("no")), self.croft.workspace("a", ttl=timedelta(seconds=1.5), on_lost=told.set) as ws:
            self.assertFalse(ws.lost.wait(1))
            self.assertTrue(ws.lost.wait(5))
            self.assertTrue(told.wait(1))

    def test_a_daemon_that_does_not_answer_keeps_no_loss_back(self) -> None:
        assert self.daemon is not None
        held = self.croft.workspace("a", ttl=timedelta(seconds=1.5))
        held.__enter__()
        self.daemon.send_signal(signal.SIGSTOP)
        try:
            self.assertTrue(held.lost.wait(10))
        finally:
            self.daemon.send_signal(signal.SIGCONT)
        with contextlib.suppress(CroftError):  # the lease may be over
            held.__exit__(None, None, None)


class RemovedDirTest(unittest.TestCase):
    def test_a_client_can_be_made(self) -> None:
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        gone = tempfile.mkdtemp(prefix="croft")
        os.chdir(gone)
        os.rmdir(gone)
        Croft(env={"CROFT_SOCKET": "/none"}).close()


class ParserTest(unittest.TestCase):
    def test_messages(self) -> None:
        text = 'retry: 1000\nid: 7\n\n: alive\n\nid: 8\nevent: a.b\ndata: {"x":\ndata: 1}\n\nid: 9\n\nretry: 1\nid: \n\nevent: end\ndata: {}\n\n'
        parser = Parser()
        got = [message for line in text.splitlines(keepends=True) if (message := parser.feed(line))]
        self.assertEqual(got, [("7", "", ""), ("8", "a.b", '{"x":\n1}'), ("9", "", ""), ("", "end", "{}")])


if __name__ == "__main__":
    unittest.main()
