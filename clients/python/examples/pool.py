"""A pool of agents: every task gets a worktree of its own beside the repository.

    python3 pool.py --workers 3 --run './agent.sh' issue-1 issue-2 issue-3

At most so many agents are at work at once. What an agent that succeeded has made is merged,
and its worktree removed; that of one that failed stays, with its work. Worktrees of a run that
was killed are removed when the next one begins: into the trash, from where `croft restore`
brings them back.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from croft import Croft, CroftError, Merge


class Pool:
    def __init__(self, repo: str, max_workers: int) -> None:
        self.croft = Croft(repo, actor="pool")
        self.max_workers = max_workers
        self.croft.reap()  # worktrees whose worker is gone

    def active(self) -> list[str]:
        """Where the workers are."""
        return [w.path for w in self.croft.iter_workspaces() if w.lease]

    def run(self, tasks: list[str], command: str) -> Iterator[tuple[str, Merge | BaseException | None]]:
        """Has an agent carry out each of the tasks, and yields what became of them."""
        with ThreadPoolExecutor(self.max_workers) as workers:
            futures = [(task, workers.submit(self.work, task, command)) for task in tasks]
            for task, future in futures:
                yield task, future.exception() or future.result()

    def work(self, task: str, command: str) -> Merge | None:
        # The layout "sibling": ../<repository>-<branch>-<time>
        with self.croft.workspace(task, layout="sibling", branch=f"agent/{task}", on_success="merge") as ws:
            subprocess.run(["sh", "-c", command], cwd=ws.path, env={**os.environ, **ws.env, "TASK": task}, check=True)
        return ws.merge


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--workers", type=int, default=3)
    args.add_argument("--run", required=True, help="the command that is an agent; $TASK is its task")
    args.add_argument("tasks", nargs="+")
    given = args.parse_args()
    failed = 0
    for task, result in Pool(".", given.workers).run(given.tasks, given.run):
        if isinstance(result, Merge):
            print(task, result.status, result.reason or "")  # a conflict is a result: it is pending
        else:
            failed += 1
            print(task, "failed:", result.message if isinstance(result, CroftError) else result)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
