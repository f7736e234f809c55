from __future__ import annotations

import asyncio
import inspect
import os
import signal
import tempfile
import threading
import time
import unittest
from datetime import timedelta
from unittest import mock

from croft import Calls, Croft, CroftError, Event, Workspace, _find, _model, _transport

from .daemon import DaemonTest


class CallsTest(DaemonTest):
    def test_pages(self) -> None:
        names = [f"w{i}" for i in range(5)]
        self.croft.create_all(workspaces=[{"name": name, "meta": {"n": name}} for name in names])
        page = self.croft.workspaces(limit=2)
        self.assertEqual([w.name for w in page.items], names[:2])
        self.assertEqual([w.name for w in self.croft.iter_workspaces(limit=2)], names)
        self.assertEqual([w.name for w in self.croft.workspaces(meta={"n": "w3"}, states=["ready", "creating"]).items], ["w3"])
        self.assertEqual(self.croft.count_active().active, 5)

    def test_values(self) -> None:
        made = self.croft.create(name="a")
        self.assertIsInstance(made, Workspace)
        self.assertLess(abs(time.time() - made.created_at.timestamp()), 60)
        self.assertIsNone(made.merge_status)
        self.assertIs(made.is_locked, False)
        self.assertEqual(made.collides, [])
        self.assertEqual(made.env["CROFT_WORKSPACE"], made.id)
        locked = self.croft.lock("a", reason="mine", if_revision=made.revision)
        self.assertTrue(locked.is_locked)
        with self.assertRaises(CroftError) as failed:
            self.croft.unlock("a", if_revision=made.revision)
        self.assertEqual(failed.exception.code, "REVISION_CHANGED")

    def test_errors(self) -> None:
        self.croft.create(name="a")
        with self.assertRaises(CroftError) as failed:
            self.croft.create(name="a")
        self.assertEqual((failed.exception.code, failed.exception.status, failed.exception.retryable), ("WORKTREE_EXISTS", 409, False))
        self.croft.take_lease("a", owner={"host": "", "pid": os.getpid()}, mode="exclusive")
        with self.assertRaises(CroftError) as failed:
            self.croft.take_lease("a", owner={"host": "elsewhere", "pid": 1}, mode="exclusive")
        self.assertEqual((failed.exception.code, failed.exception.retryable), ("WORKSPACE_BUSY", True))
        self.assertTrue(failed.exception.message)

    def test_who_acts(self) -> None:
        with Croft(self.repo, env=self.env, actor="orchestrator") as croft:
            ws = croft.create(name="a")
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(ws.path)
        with Croft(self.repo, env=self.env, actor="orchestrator") as croft:
            croft.update_workspace("a", meta={"k": "v"})
        self.assertEqual({e.actor for e in self.croft.events(follow=False)}, {"orchestrator", "agent in a"})

    def test_hostile_names(self) -> None:
        for name in ("..", ".", "-", "/", "../../v1/daemon", "a/b", "a?b=c", "a#b", "a%2Fb", "ü\r\nX: y", "\x1b[31m"):
            with self.subTest(name), self.assertRaises(CroftError) as failed:
                self.croft.get_workspace(name)
            self.assertIn(failed.exception.code, ("WORKTREE_NOT_FOUND", "INVALID_NAME", "INVALID_REQUEST", "NOT_A_REPO"), name)
            self.assertNotIn("openapi", failed.exception.hint, name)

    def test_every_method_has_a_route(self) -> None:
        for name, method in inspect.getmembers(Calls, inspect.isfunction):
            if name.startswith(("_", "iter_")) or name in ("uninstall", "doctor", "gc"):
                continue
            given = {}
            for parameter in list(inspect.signature(method).parameters.values())[1:]:
                if parameter.default is parameter.empty:
                    given[parameter.name] = [] if "Sequence" in str(parameter.annotation) else "nope"
            try:
                getattr(self.croft, name)(**given)
            except CroftError as e:
                self.assertNotIn("openapi", e.hint, name)
                self.assertNotEqual(e.code, "INTERNAL", name)


class WorkspaceTest(DaemonTest):
    def test_merges_on_success(self) -> None:
        with self.croft.workspace("a", on_success="merge", message="add f") as ws:
            self.write(ws.path, "f", "1\n")
            self.assertEqual(self.croft.get_workspace("a").lease.id, ws.lease.id)
        self.assertEqual(ws.merge.status, "merged")
        self.assertEqual(self.git(self.repo, "show", "main:f"), "1")
        self.assertEqual(self.croft.workspaces().items, [])

    def test_keeps_by_default(self) -> None:
        with self.croft.workspace("a") as ws:
            self.write(ws.path, "f", "1\n")
        now = self.croft.get_workspace("a")
        self.assertIsNone(now.lease)
        self.assertEqual(now.finished.outcome, "succeeded")
        self.assertEqual(self.git(self.repo, "show", f"{now.branch}:f"), "1")
        self.assertEqual(self.git(self.repo, "ls-tree", "--name-only", "main"), "README")

    def test_keeps_on_exception(self) -> None:
        with self.assertRaises(ZeroDivisionError), self.croft.workspace("a", on_success="merge") as ws:
            self.write(ws.path, "f", "1\n")
            1 / 0  # noqa: B018
        now = self.croft.get_workspace("a")
        self.assertIsNone(now.lease)
        self.assertEqual(now.finished.outcome, "failed")
        self.assertTrue(os.path.exists(os.path.join(now.path, "f")))
        with self.croft.workspace("a", existing="take", on_success="merge"):
            pass
        self.assertEqual(self.git(self.repo, "show", "main:f"), "1")

    def test_conflict_is_a_result(self) -> None:
        with self.croft.workspace("a", on_success="merge") as a, self.croft.workspace("b", on_success="merge") as b:
            self.write(a.path, "README", "a\n")
            self.write(b.path, "README", "b\n")
        self.assertEqual(b.merge.status, "merged")
        self.assertEqual((a.merge.status, a.merge.reason), ("pending", "CONFLICT"))
        self.assertEqual([c.path for c in a.merge.conflicts], ["README"])

    def test_lease_is_renewed_and_lost(self) -> None:
        told = threading.Event()
        with self.assertRaises(CroftError) as failed, self.croft.workspace("a", on_success="merge", ttl=timedelta(seconds=1.5), on_lost=told.set) as ws:
            self.write(ws.path, "f", "1\n")
            self.assertFalse(ws.lost.wait(3))  # twice its time
            self.assertGreater(self.croft.get_workspace("a").lease.expires_at.timestamp(), time.time())
            self.croft.release(ws.lease.id)
            self.assertTrue(ws.lost.wait(10))
            self.assertTrue(told.wait(1))
        self.assertEqual(failed.exception.code, "LEASE_LOST")
        self.assertTrue(os.path.exists(os.path.join(ws.path, "f")))
        self.assertEqual(self.croft.merges().items, [])

    def test_wait_merge_ends_in_time(self) -> None:
        with self.croft.workspace("a") as ws:
            self.write(ws.path, "f", "1\n")
        merge = self.croft.submit_merge("a")
        self.assertEqual(self.croft.wait_merge(merge.id).status, "merged")
        with self.assertRaises(CroftError) as failed:
            self.croft.wait_merge("nope", timeout=1)
        self.assertEqual(failed.exception.code, "MERGE_NOT_FOUND")


class AwayTest(DaemonTest):
    def test_calls_go_on_after_a_restart(self) -> None:
        for how in (signal.SIGKILL, signal.SIGTERM):
            self.croft.create(name=f"before{how}", key=f"key{how}")
            self.stop(how)
            again = threading.Timer(0.5, self.start)
            again.start()
            self.assertEqual(self.croft.create(name=f"after{how}").name, f"after{how}")
            again.join()
            self.assertEqual(self.croft.create(name=f"before{how}", key=f"key{how}").name, f"before{how}")  # done once
        self.assertEqual(self.croft.count_active().active, 4)

    def test_a_call_is_sent_again_with_its_key(self) -> None:
        # The daemon did it, and its answer is lost.
        calls: list[tuple[object, ...]] = []
        whole = _transport.Transport._once

        def once(self: _transport.Transport, *args: object) -> object:
            answer = whole(self, *args)
            calls.append(args)
            if len(calls) == 1:
                raise ConnectionResetError
            return answer

        with mock.patch.object(_transport.Transport, "_once", once):
            self.assertEqual(self.croft.create(name="a").name, "a")
        self.assertEqual(len(calls), 2)
        self.assertEqual(calls[0], calls[1])
        self.assertEqual(self.croft.count_active().active, 1)

    def test_a_call_without_a_key_is_not_sent_again(self) -> None:
        with mock.patch.object(_transport.Transport, "_once", side_effect=ConnectionResetError) as once, self.assertRaises(CroftError) as failed:
            self.croft.renew("x")
        self.assertEqual((failed.exception.code, failed.exception.retryable, once.call_count), ("CLOSED", True, 1))

    def test_no_daemon_is_told_at_once(self) -> None:
        self.stop()
        start = time.monotonic()
        with self.assertRaises(CroftError) as failed:
            Croft(self.repo, env=self.env).repos()
        self.assertLess(time.monotonic() - start, 2)
        self.assertEqual((failed.exception.code, failed.exception.hint, failed.exception.retryable), ("DAEMON_UNREACHABLE", "croft serve --detach", True))
        with self.assertRaises(CroftError) as failed:
            next(iter(Croft(self.repo, env=self.env).events()))
        self.assertEqual(failed.exception.code, "DAEMON_UNREACHABLE")


class EventsTest(DaemonTest):
    def test_events_over_restarts(self) -> None:
        seen: list[Event] = []
        stream = self.croft.events(from_="now")

        def read() -> None:
            for event in stream:
                seen.append(event)
                if event.kind == "workspace.created" and event.workspace_name == "last":
                    return

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        self.work_and_restart()
        reader.join(30)
        self.assertFalse(reader.is_alive(), self.log())
        self.check(seen)

    def test_async_events_over_restarts(self) -> None:
        seen: list[Event] = []

        async def read() -> None:
            async for event in self.croft.events_async():
                seen.append(event)
                if event.kind == "workspace.created" and event.workspace_name == "last":
                    return

        async def both() -> None:
            reader = asyncio.create_task(read())
            await asyncio.to_thread(self.work_and_restart)
            await asyncio.wait_for(reader, 30)

        asyncio.run(both())
        self.check(seen)

    def work_and_restart(self) -> None:
        for i, how in enumerate((signal.SIGKILL, signal.SIGTERM, signal.SIGKILL)):
            self.croft.create(name=f"w{i}")
            self.stop(how)
            self.start()
            self.croft.create(name=f"x{i}")
        self.croft.create(name="last")

    def check(self, seen: list[Event]) -> None:
        self.assertEqual([e.cursor for e in seen], [e.cursor for e in self.croft.events(follow=False)])
        self.assertGreaterEqual(len(seen), 14)

    def test_some_events(self) -> None:
        self.croft.create(name="a")
        after = self.croft.workspaces().cursor
        self.croft.create(name="b")
        self.assertEqual([e.workspace_name for e in self.croft.events(follow=False, kinds=["workspace.created"])], ["a", "b"])
        self.assertEqual([e.workspace_name for e in self.croft.events(follow=False, after=after, kinds=["workspace.created"])], ["b"])
        with self.assertRaises(CroftError) as failed:
            list(self.croft.events(follow=False, after="nonsense"))
        self.assertIn(failed.exception.code, ("CURSOR_EXPIRED", "INVALID_REQUEST"))


class TokenTest(DaemonTest):
    flags = ["--tcp=127.0.0.1:0"]

    def test_over_tcp(self) -> None:
        env = self.token("all")
        with Croft(self.repo, env=env) as croft:
            self.assertFalse(croft.is_local)
            with croft.workspace("a", on_success="merge") as ws:
                self.write(ws.path, "f", "1\n")
                self.assertTrue(ws.lease.owner.host)
            self.assertEqual(ws.merge.status, "merged")
            kinds = [e.kind for e in croft.events(follow=False)]
            self.assertIn("merge.merged", kinds)
            self.assertEqual(asyncio.run(self.kinds(croft)), kinds)

    async def kinds(self, croft: Croft) -> list[str]:
        return [e.kind async for e in croft.events_async(follow=False)]

    def test_a_token_is_needed(self) -> None:
        env = self.token("read")
        with Croft(self.repo, env=env) as croft:
            self.assertEqual(croft.workspaces(repo=self.repo).items, [])
            with self.assertRaises(CroftError) as failed:
                croft.create(name="a")
            self.assertEqual((failed.exception.code, failed.exception.status), ("ACCESS_DENIED", 403))
        for token in ("", "croft_wrong"):
            with Croft(self.repo, env={**env, "CROFT_TOKEN": token}) as croft:
                for call in (croft.workspaces, lambda croft=croft: next(croft.events()), lambda croft=croft: asyncio.run(self.kinds(croft))):
                    with self.assertRaises(CroftError) as failed:
                        call()
                    self.assertEqual((failed.exception.code, failed.exception.status), ("UNAUTHENTICATED", 401))


class ValuesTest(unittest.TestCase):
    def test_a_newer_daemon(self) -> None:
        w = Workspace.of({"name": "a", "state": "asleep", "later": {"x": 1}, "lease": {"id": "l", "more": True}})
        self.assertEqual((w.name, w.state, w.lease.id, w.to_json()["later"]), ("a", "asleep", "l", {"x": 1}))
        with self.assertRaises(AttributeError):
            w.later
        with self.assertRaises(TypeError):
            Workspace(nmae="a")

    def test_durations(self) -> None:
        for text, seconds in (("1h30m", 5400), ("1m0s", 60), ("-1.5s", -1.5), ("250ms", 0.25), ("2µs", 2e-6), ("0s", 0)):
            self.assertEqual(_model.parse_duration(text), timedelta(seconds=seconds), text)
        for value in (timedelta(seconds=90), timedelta(milliseconds=1500), timedelta(microseconds=-7)):
            self.assertEqual(_model.parse_duration(_model.format_duration(value)), value)

    def test_segments(self) -> None:
        for value, want in (("", "-"), ("-", "name%3A-"), ("..", "%2E%2E"), ("a/b", "a%2Fb"), ("/", "path%3A%2F"), ("ü", "%C3%BC")):
            self.assertEqual(_model.segment(value), want)

    def test_where_the_daemon_is(self) -> None:
        with tempfile.TemporaryDirectory() as dir:
            state, runtime = os.path.join(dir, "state"), os.path.join(dir, "run")
            os.makedirs(os.path.join(state, "run"))
            os.mkdir(runtime, 0o700)
            self.assertEqual(_find.socket_paths({"CROFT_SOCKET": "/s", "HOME": dir}), ["/s"])
            self.assertEqual(_find.socket_paths({"HOME": dir}), [f"{dir}/.local/state/croft/run/daemon.sock"])
            self.assertEqual(_find.socket_paths({"HOME": dir, "XDG_RUNTIME_DIR": runtime}), [f"{runtime}/croft/daemon.sock"])
            other = _find.socket_paths({"HOME": dir, "XDG_RUNTIME_DIR": runtime, "CROFT_STATE_DIR": state})
            self.assertRegex(other[0], rf"^{runtime}/croft/daemon-[0-9a-f]{{12}}\.sock$")
            os.chmod(runtime, 0o755)
            self.assertEqual(_find.socket_paths({"HOME": dir, "XDG_RUNTIME_DIR": runtime, "CROFT_STATE_DIR": state}), [f"{state}/run/daemon.sock"])
            with open(os.path.join(state, "run", "daemon.json"), "w", encoding="utf-8") as f:
                f.write('{"socket": "/said"}')
            self.assertEqual(_find.socket_paths({"HOME": dir, "CROFT_STATE_DIR": state}), ["/said", f"{state}/run/daemon.sock"])


if __name__ == "__main__":
    unittest.main()
