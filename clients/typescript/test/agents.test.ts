import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";

import { Daemon, binary } from "./daemon.js";

interface Agent {
  id: string;
  task: string;
  worktreePath: string | null;
  branchName: string | null;
  mergeStatus: string | null;
  mergeCommitSha: string | null;
  isRunning: boolean;
  mergedAfter: number;
}

// What an agent does is its task: "NAME TEXT" writes a file, "fail …" does so and fails, "hang …"
// waits to be killed.
const agent = 'set -- $TASK; echo "$2" > "$1"; case $3 in fail) exit 1 ;; hang) exec sleep 60 ;; esac';

test("the example: spawn, merge, discard, revert", { skip: binary ? false : "CROFT_BIN does not say where croft is", timeout: 120_000 }, () =>
  Daemon.run(async (d) => {
    const script = fileURLToPath(new URL("../examples/agents.js", import.meta.url));
    const app = spawn(process.execPath, [script, "--repo", d.repo, "--run", agent], { env: d.env, stdio: ["ignore", "pipe", "inherit"] });
    const stop = new AbortController();
    try {
      const [line] = (await once(app.stdout, "data")) as [Buffer];
      const base = String(line).trim().replace(/\/$/, "");
      const post = (path: string, body: object = {}, headers: Record<string, string> = {}) =>
        fetch(base + path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json", ...headers } });
      const list = async () => (await (await fetch(base + "/api/agents")).json()) as Agent[];
      const until = async (task: string, isGood: (a: Agent) => boolean) => {
        for (let i = 0; i < 200; i++, await sleep(50)) {
          const found = (await list()).find((a) => a.task === task);
          if (found && isGood(found)) return found;
        }
        assert.fail(`${task}: ${JSON.stringify(await list())}`);
      };
      const events: string[] = [];
      const stream = await fetch(base + "/api/events", { signal: stop.signal });
      const reading = (async () => {
        for await (const part of stream.body!) events.push(...Array.from(String(Buffer.from(part)).matchAll(/event: (\S+)/g), (m) => m[1]!));
      })().catch(() => undefined);

      // Spawn, work, merge by itself.
      const made = (await (await post("/api/agents", { task: "a 1" })).json()) as Agent;
      assert.match(made.worktreePath!, /\.worktrees/);
      assert.match(made.branchName!, /^agent\//);
      await until("a 1", (a) => a.mergeStatus === "merged" && a.worktreePath === null);
      assert.equal(d.git(d.repo, "show", "main:a"), "1");
      assert.ok(!existsSync(made.worktreePath!));

      // One that was killed waits for a person.
      const hanging = (await (await post("/api/agents", { task: "b 2 hang" })).json()) as Agent;
      await until("b 2 hang", (a) => a.isRunning && existsSync(a.worktreePath! + "/b"));
      await post(`/api/agents/${hanging.id}/kill`);
      await until("b 2 hang", (a) => !a.isRunning && a.mergeStatus === "pending");
      assert.equal((await post(`/api/agents/${hanging.id}/merge`)).status, 200);
      await until("b 2 hang", (a) => a.mergeStatus === "merged");
      assert.equal(d.git(d.repo, "show", "main:b"), "2");

      // Undo: one was merged after it.
      assert.equal((await until("a 1", () => true)).mergedAfter, 1);
      assert.match(await (await fetch(base + "/")).text(), /Undo Merge<\/button><\/form>1 merged after this/);
      assert.equal((await post(`/api/agents/${made.id}/revert`)).status, 200);
      await until("a 1", (a) => a.mergeStatus === "reverted");
      assert.equal(d.git(d.repo, "ls-tree", "--name-only", "main"), "README\nb");

      // Discard.
      const failing = (await (await post("/api/agents", { task: "c 3 fail" })).json()) as Agent;
      await until("c 3 fail", (a) => !a.isRunning && a.mergeStatus === "pending");
      assert.equal((await post(`/api/agents/${failing.id}/discard`)).status, 200);
      await until("c 3 fail", (a) => a.mergeStatus === "discarded");
      assert.ok(!existsSync(failing.worktreePath!));

      // A conflict is told.
      d.write(d.repo, "x", "");
      await post("/api/agents", { task: "README one hang" });
      const first = await until("README one hang", (a) => a.isRunning);
      await post("/api/agents", { task: "README two" });
      await until("README two", (a) => a.mergeStatus === "merged");
      await post(`/api/agents/${first.id}/kill`);
      await until("README one hang", (a) => a.mergeStatus === "pending");
      await post(`/api/agents/${first.id}/merge`);
      for (let i = 0; i < 100 && events.length < 6; i++) await sleep(50);
      for (const kind of ["agent:merged", "agent:merge-failed", "agent:discarded", "agent:reverted"]) assert.ok(events.includes(kind), `${kind}: ${events.join(" ")}`);

      // Pages of other sites, and markup in a task.
      assert.equal((await post("/api/agents", { task: "x" }, { Origin: "http://evil.example" })).status, 403);
      const named = request(base + "/api/agents", { headers: { Host: "rebound.example" } }).end();
      assert.equal(((await once(named, "response")) as [IncomingMessage])[0].resume().statusCode, 403);
      assert.equal((await post("/api/agents/nope/merge")).status, 404);
      await post("/api/agents", { task: "d <script>alert(1)</script>" });
      assert.doesNotMatch(await (await fetch(base + "/")).text(), /<script>alert/);
      stop.abort();
      await reading;
    } finally {
      stop.abort();
      app.kill();
      if (app.exitCode === null && app.signalCode === null) await once(app, "exit");
    }
  }),
);
