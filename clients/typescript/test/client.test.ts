import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Parser } from "../src/events.js";
import { socketPaths } from "../src/find.js";
import { Croft, CroftError, type Event, segment } from "../src/index.js";
import { Transport } from "../src/transport.js";
import { durationMs } from "../src/workspace.js";
import { Daemon, binary, codeOf } from "./daemon.js";

const options = { skip: binary ? false : "CROFT_BIN does not say where croft is", timeout: 120_000 };

test("lists come in pages", options, () =>
  Daemon.run(async ({ croft }) => {
    const names = ["w0", "w1", "w2", "w3", "w4"];
    await croft.createAll({ workspaces: names.map((name) => ({ name, meta: { n: name } })) });
    assert.deepEqual((await croft.workspaces({ limit: 2 })).items.map((w) => w.name), names.slice(0, 2));
    const all: string[] = [];
    for await (const w of croft.iterateWorkspaces({ limit: 2 })) all.push(w.name);
    assert.deepEqual(all, names);
    assert.deepEqual((await croft.workspaces({ meta: { n: "w3" }, states: ["ready", "creating"] })).items.map((w) => w.name), ["w3"]);
  }),
);

test("errors are typed", options, () =>
  Daemon.run(async ({ croft }) => {
    const made = await croft.create({ name: "a" });
    const failed = await croft.create({ name: "a" }).catch((e: unknown) => e);
    assert.ok(failed instanceof CroftError);
    assert.deepEqual([failed.code, failed.status, failed.retryable], ["WORKTREE_EXISTS", 409, false]);
    await croft.lock("a", { reason: "mine", ifRevision: made.revision });
    assert.equal(await codeOf(croft.unlock("a", { ifRevision: made.revision })), "REVISION_CHANGED");
    for (const name of ["..", ".", "-", "/", "../../v1/daemon", "a/b", "a?b=c", "a#b", "a%2Fb", "ü\r\nX: y"]) {
      const e = await croft.getWorkspace(name).catch((e: unknown) => e);
      assert.ok(e instanceof CroftError && ["WORKTREE_NOT_FOUND", "INVALID_NAME", "INVALID_REQUEST", "NOT_A_REPO"].includes(e.code), `${name}: ${String(e)}`);
      assert.doesNotMatch(e.hint, /openapi/, name);
    }
  }),
);

test("a call can be aborted", options, () =>
  Daemon.run(async ({ croft }) => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(new Error("enough")), 200);
    await assert.rejects(croft.driveLanes({ until: "stopped" }, { signal: stop.signal }), /enough/);
    assert.equal((await croft.countActive()).active, 0);
  }),
);

test("the work of a workspace is merged", options, () =>
  Daemon.run(async (d) => {
    const done = await d.croft.withWorkspace("a", { onSuccess: "merge" }, async (ws) => {
      d.write(ws.path, "f", "1\n");
      assert.equal((await d.croft.getWorkspace("a")).lease?.id, ws.lease.id);
      return 42;
    });
    assert.deepEqual([done.value, done.merge?.status], [42, "merged"]);
    assert.equal(d.git(d.repo, "show", "main:f"), "1");
  }),
);

test("the work of a function that throws is kept", options, () =>
  Daemon.run(async (d) => {
    const work = d.croft.withWorkspace("a", { onSuccess: "merge" }, (ws) => {
      d.write(ws.path, "f", "1\n");
      throw new RangeError("no");
    });
    await assert.rejects(work, RangeError);
    const now = await d.croft.getWorkspace("a");
    assert.deepEqual([now.lease, now.finished?.outcome, existsSync(join(now.path, "f"))], [undefined, "failed", true]);
    const done = await d.croft.withWorkspace("a", { existing: "take", onSuccess: "merge" }, () => undefined);
    assert.equal(done.merge?.status, "merged");
  }),
);

test("a block with await using", options, () =>
  Daemon.run(async (d) => {
    {
      await using ws = await d.croft.workspace("a");
      d.write(ws.path, "f", "1\n");
    }
    const left = await d.croft.getWorkspace("a");
    assert.deepEqual([left.lease, left.finished?.outcome], [undefined, "failed"]);
    {
      await using ws = await d.croft.workspace("b", { onSuccess: "merge" });
      d.write(ws.path, "g", "1\n");
      assert.equal((await ws.finish())?.status, "merged");
    }
  }),
);

test("a conflict is a result", options, () =>
  Daemon.run(async (d) => {
    const a = await d.croft.workspace("a", { onSuccess: "merge" });
    const b = await d.croft.workspace("b", { onSuccess: "merge" });
    d.write(a.path, "README", "a\n");
    d.write(b.path, "README", "b\n");
    assert.equal((await b.finish())?.status, "merged");
    const merge = await a.finish();
    assert.deepEqual([merge?.status, merge?.reason, merge?.conflicts?.map((c) => c.path)], ["pending", "CONFLICT", ["README"]]);
  }),
);

test("a lease is renewed, and its loss is told", options, () =>
  Daemon.run(async (d) => {
    const ws = await d.croft.workspace("a", { onSuccess: "merge", ttl: "1.5s" });
    d.write(ws.path, "f", "1\n");
    await sleep(3000); // twice its time
    assert.equal(ws.signal.aborted, false);
    assert.ok(Date.parse((await d.croft.getWorkspace("a")).lease!.expiresAt) > Date.now());
    await d.croft.release(ws.lease.id);
    for (let i = 0; i < 100 && !ws.signal.aborted; i++) await sleep(50);
    assert.equal(ws.signal.aborted, true);
    assert.equal(await codeOf(ws.finish()), "LEASE_LOST");
    assert.ok(existsSync(join(ws.path, "f")));
  }),
);

test("calls go on after a restart", options, () =>
  Daemon.run(async (d) => {
    for (const how of ["SIGKILL", "SIGTERM"] as const) {
      await d.croft.create({ name: "before-" + how, key: how });
      await d.stop(how);
      const again = sleep(500).then(() => d.start());
      assert.equal((await d.croft.create({ name: "after-" + how })).name, "after-" + how);
      await again;
      assert.equal((await d.croft.create({ name: "before-" + how, key: how })).name, "before-" + how); // done once
    }
    assert.equal((await d.croft.countActive()).active, 4);
  }),
);

test("a call is sent again with its key, and without one it is not", options, () =>
  Daemon.run(async ({ croft, env, repo }) => {
    const sent: string[] = [];
    class Lossy extends Transport {
      override async once(...args: Parameters<Transport["once"]>): Promise<unknown> {
        sent.push(args[3] ?? "");
        const answer = await super.once(...args);
        if (sent.length === 1) throw new Error("the answer is lost"); // the daemon did it
        return answer;
      }
    }
    const transport = new Lossy({ env, dir: repo, patience: 5 });
    await transport.send({ method: "POST", path: "/v1/workspaces", fields: { name: "a" }, keyed: true });
    assert.equal(sent.length, 2);
    assert.equal(sent[0], sent[1]);
    assert.equal((await croft.countActive()).active, 1);
    sent.length = 0;
    assert.equal(await codeOf(transport.send({ method: "POST", path: "/v1/queues/run", fields: {}, keyed: false })), "CLOSED");
    assert.equal(sent.length, 1);
    transport.close();
  }),
);

test("no daemon is told at once", async () => {
  const dir = mkdtempSync(join(tmpdir(), "croft"));
  const start = Date.now();
  const croft = new Croft({ env: { HOME: dir } });
  assert.equal(await codeOf(croft.repos()), "DAEMON_UNREACHABLE");
  assert.equal(await codeOf(croft.events().next()), "DAEMON_UNREACHABLE");
  assert.ok(Date.now() - start < 2000);
  rmSync(dir, { recursive: true });
});

test("events go on over restarts, without a gap or a duplicate", options, () =>
  Daemon.run(async (d) => {
    const seen: Event[] = [];
    const events = d.croft.events({ from: "now" });
    const reader = (async () => {
      for await (const event of events) {
        seen.push(event);
        if (event.kind === "workspace.created" && event.workspaceName === "last") return;
      }
    })();
    await sleep(100);
    for (const [i, how] of (["SIGKILL", "SIGTERM", "SIGKILL"] as const).entries()) {
      await d.croft.create({ name: `w${i}` });
      await d.stop(how);
      await d.start();
      await d.croft.create({ name: `x${i}` });
    }
    await d.croft.create({ name: "last" });
    await reader;
    const all: Event[] = [];
    for await (const event of d.croft.events({ follow: "none" })) all.push(event);
    assert.deepEqual(seen.map((e) => e.cursor), all.map((e) => e.cursor));
    assert.ok(seen.length >= 14);
    assert.ok(["CURSOR_EXPIRED", "INVALID_REQUEST"].includes(await codeOf(d.croft.events({ after: "nonsense" }).next())));
  }),
);

test("a reader of events can be stopped", options, () =>
  Daemon.run(async ({ croft }) => {
    const stop = new AbortController();
    const next = croft.events({ from: "now", signal: stop.signal }).next();
    setTimeout(() => stop.abort(new Error("enough")), 100);
    await assert.rejects(next, /enough/);
  }),
);

test("over TCP a token is needed", options, () =>
  Daemon.run(
    async (d) => {
      const all = new Croft({ dir: d.repo, env: d.token("all") });
      const done = await all.withWorkspace("a", { onSuccess: "merge" }, (ws) => d.write(ws.path, "f", "1\n"));
      assert.deepEqual([all.isLocal, done.merge?.status], [false, "merged"]);
      const kinds: string[] = [];
      for await (const event of all.events({ follow: "none" })) kinds.push(event.kind);
      assert.ok(kinds.includes("merge.merged"));
      const env = d.token("read");
      const reader = new Croft({ dir: d.repo, env });
      assert.equal((await reader.countActive({ repo: d.repo })).active, 0);
      assert.equal(await codeOf(reader.create({ name: "b" })), "ACCESS_DENIED");
      const nobody = new Croft({ dir: d.repo, env: { ...env, CROFT_TOKEN: "croft_wrong" } });
      assert.equal(await codeOf(nobody.repos()), "UNAUTHENTICATED");
      assert.equal(await codeOf(nobody.events().next()), "UNAUTHENTICATED");
      for (const croft of [all, reader, nobody]) croft.close();
    },
    ["--tcp=127.0.0.1:0"],
  ),
);

test("server-sent events in parts", () => {
  const text = "retry: 1000\n\n: alive\n\nid: 1\nevent: a.b\ndata: {\"x\":\ndata: 1}\n\nevent: end\ndata: {}\n\n";
  for (const size of [1, 3, 1000]) {
    const parser = new Parser();
    const got = [];
    for (let i = 0; i < text.length; i += size) got.push(...parser.feed(text.slice(i, i + size)));
    assert.deepEqual(got, [{ id: "1", kind: "a.b", data: '{"x":\n1}' }, { id: "", kind: "end", data: "{}" }]);
  }
});

test("segments and durations", () => {
  const want = { "": "-", "-": "name%3A-", "..": "%2E%2E", "a/b": "a%2Fb", "/": "path%3A%2F", "ü": "%C3%BC" };
  for (const [value, text] of Object.entries(want)) assert.equal(segment(value), text);
  assert.deepEqual(["1h30m", "1m0s", "-1.5s", "250ms"].map(durationMs), [5_400_000, 60_000, -1500, 250]);
});

test("where the daemon is", () => {
  const dir = mkdtempSync(join(tmpdir(), "croft"));
  const [state, runtime] = [join(dir, "state"), join(dir, "run")];
  mkdirSync(join(state, "run"), { recursive: true });
  mkdirSync(runtime, { mode: 0o700 });
  assert.deepEqual(socketPaths({ CROFT_SOCKET: "/s", HOME: dir }), ["/s"]);
  assert.deepEqual(socketPaths({ HOME: dir }), [`${dir}/.local/state/croft/run/daemon.sock`]);
  assert.deepEqual(socketPaths({ HOME: dir, XDG_RUNTIME_DIR: runtime }), [`${runtime}/croft/daemon.sock`]);
  assert.match(socketPaths({ HOME: dir, XDG_RUNTIME_DIR: runtime, CROFT_STATE_DIR: state })[0]!, /\/croft\/daemon-[0-9a-f]{12}\.sock$/);
  writeFileSync(join(state, "run", "daemon.json"), '{"socket": "/said"}');
  assert.deepEqual(socketPaths({ HOME: dir, CROFT_STATE_DIR: state }), ["/said", `${state}/run/daemon.sock`]);
  rmSync(dir, { recursive: true });
});
