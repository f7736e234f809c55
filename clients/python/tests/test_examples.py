from __future__ import annotations

import os
import subprocess
import sys
import time

from .daemon import DaemonTest

package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class PoolTest(DaemonTest):
    settings = {"CROFT_LEASE_TTL": "1s"}

    def run_pool(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, os.path.join(package, "examples", "pool.py"), *args],
            cwd=self.repo, env={**self.env, "PYTHONPATH": package}, capture_output=True, text=True, timeout=60,
        )

    def test_pool(self) -> None:
        agent = 'test "$TASK" != bad && test "$(basename "$PWD" | grep -c ^app-agent-)" = 1 && echo "$TASK" > "$TASK.txt"'
        done = self.run_pool("--workers", "2", "--run", agent, "one", "bad", "two", "three")
        self.assertEqual(done.stderr, "")
        lines = done.stdout.splitlines()
        self.assertEqual([line.split()[:2] for line in lines], [["one", "merged"], ["bad", "failed:"], ["two", "merged"], ["three", "merged"]])
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.git(self.repo, "ls-tree", "--name-only", "main").split(), ["README", "one.txt", "three.txt", "two.txt"])
        left = self.croft.workspaces().items
        self.assertEqual([(w.name, w.finished.outcome, w.lease) for w in left], [("bad", "failed", None)])

    def test_the_next_pool_removes_what_a_killed_one_left(self) -> None:
        killed = self.run_pool("--run", "kill -9 $PPID", "one")
        self.assertEqual(killed.returncode, -9)
        [left] = self.croft.workspaces().items
        self.assertTrue(os.path.isdir(left.path))
        time.sleep(1.2)  # its lease expires
        done = self.run_pool("--run", "echo 2 > f", "two")
        self.assertEqual((done.stdout.split()[:2], done.stderr), (["two", "merged"], ""))
        self.assertEqual(self.croft.workspaces().items, [])
        self.assertFalse(os.path.exists(left.path))
        self.assertIn("one", [t.name for t in self.croft.trash().items])
