"""A daemon of its own for each test, with a repository."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from croft import Croft, CroftError


class DaemonTest(unittest.TestCase):
    """Has a daemon, a client of it, and a repository with one commit."""

    settings: dict[str, str] = {}
    flags: list[str] = []

    def setUp(self) -> None:
        binary = os.environ.get("CROFT_BIN")
        if not binary:
            self.skipTest("CROFT_BIN does not say where croft is")
        self.binary = binary
        self.dir = tempfile.mkdtemp(prefix="croft")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        home = os.path.join(self.dir, "home")
        os.mkdir(home)
        keep = {name: os.environ[name] for name in ("PATH", "TMPDIR", "LANG") if name in os.environ}
        self.env = {
            **keep, "HOME": home, "CROFT_STATE_DIR": os.path.join(self.dir, "state"), "CROFT_DATA_DIR": os.path.join(self.dir, "data"),
            "GIT_CONFIG_NOSYSTEM": "1", **self.settings,
        }
        self.daemon: subprocess.Popen[bytes] | None = None
        self.addCleanup(self.stop)
        self.git(self.dir, "config", "--global", "user.name", "Test")
        self.git(self.dir, "config", "--global", "user.email", "test@example.com")
        self.repo = os.path.join(self.dir, "app")
        self.git(self.dir, "init", "-q", "-b", "main", self.repo)
        self.write(self.repo, "README", "hello\n")
        self.git(self.repo, "add", "-A")
        self.git(self.repo, "commit", "-q", "-m", "first")
        self.croft = Croft(self.repo, env=self.env, patience=20)
        self.addCleanup(self.croft.close)
        self.start()

    def start(self) -> None:
        """Starts the daemon, and waits until it answers."""
        with open(os.path.join(self.dir, "log"), "ab") as log:
            self.daemon = subprocess.Popen([self.binary, "serve", *self.flags], env=self.env, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until = time.monotonic() + 20
        while True:
            try:
                with Croft(None, env=self.env, patience=0) as croft:
                    croft.daemon()
                return
            except CroftError as e:
                if e.code != "DAEMON_UNREACHABLE" or time.monotonic() > until or self.daemon.poll() is not None:
                    self.fail(f"the daemon does not answer: {e}\n{self.log()}")
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ends the daemon."""
        if self.daemon is None:
            return
        self.daemon.send_signal(how)
        try:
            self.daemon.wait(20)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
            self.fail("the daemon does not stop: " + self.log())
        finally:
            self.daemon = None

    def log(self) -> str:
        with open(os.path.join(self.dir, "log"), encoding="utf-8", errors="replace") as f:
            return f.read()[-2000:]

    def token(self, access: str, *flags: str) -> dict[str, str]:
        """The environment of a client that has a token."""
        made = subprocess.run([self.binary, "token", "new", f"test-{access}", "--access", access, *flags, "--json"], env=self.env, check=True, capture_output=True, timeout=20)
        with open(os.path.join(self.env["CROFT_STATE_DIR"], "run", "daemon.json"), encoding="utf-8") as f:
            address = json.load(f)["tcp"][0]
        return {"CROFT_URL": f"http://{address}", "CROFT_TOKEN": json.loads(made.stdout)["secret"]}

    def git(self, dir: str, *args: str) -> str:
        return subprocess.run(["git", *args], cwd=dir, env=self.env, check=True, capture_output=True, text=True).stdout.strip()

    def write(self, dir: str, name: str, text: str) -> None:
        with open(os.path.join(dir, name), "w", encoding="utf-8") as f:
            f.write(text)
