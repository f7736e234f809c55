// What a client does while the daemon is away, and what it makes of refusals.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { lstatSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import * as http from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Croft, type Event } from "../src/index.js";
import { Transport, isNotSent } from "../src/transport.js";
import { Daemon, binary, codeOf } from "./daemon.js";

const options = { skip: binary ? false : "CROFT_BIN does not say where croft is", timeout: 120_000 };
const short = { timeout: 30_000 };

/** Runs a test with a directory of its own. */
async function inDir(work: (dir: string) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "croft"));
  try {
    await work(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Serves answers at a socket, one after the other, and the last one from then on. */
async function answering(path: string, answers: ((w: http.ServerResponse) => void)[], work: () => Promise<void>): Promise<void> {
  let asked = 0;
  const server = http.createServer((_, w) => answers[Math.min(asked++, answers.length - 1)]!(w));
  await new Promise<void>((done) => server.listen(path, done));
  try {
    await work();
  } finally {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
}

test("a quiet stream goes on after a restart", options, () =>
  Daemon.run(async (d) => {
    const next = d.croft.events({ kinds: ["workspace.created"], patience: 2 }).next();
    await sleep(3000); // longer than the patience
    await d.stop("SIGKILL");
    await d.start();
    await d.croft.create({ name: "a" });
    assert.equal(((await next).value as Event).workspaceName, "a");
  }),
);

test("an agent reads events from now on", options, () =>
  Daemon.run(
    async (d) => {
      await d.croft.create({ name: "a" });
      const agent = new Croft({ dir: null, env: d.token("workspace", "--workspace", "a", "-C", d.repo) });
      const events = agent.events({ from: "now" });
      const first = events.next();
      let isOver = false;
      void first.catch(() => undefined).then(() => (isOver = true));
      for (let i = 0; i < 100 && !isOver; i++) {
        await d.croft.updateWorkspace("a", { meta: { k: String(i) } });
        await sleep(50);
      }
      assert.equal(((await first).value as Event).kind, "workspace.changed");
      await events.return();
      assert.ok(await agent.cursor());
      agent.close();
    },
    ["--tcp=127.0.0.1:0"],
  ),
);

test("a refusal of a stream is told, and a stream that was cut goes on", short, () =>
  inDir(async (dir) => {
    const path = join(dir, "s");
    const refuse = (code: string) => (w: http.ServerResponse) => void w.writeHead(429, { "Content-Type": "application/problem+json" }).end(JSON.stringify({ code, message: "no" }));
    const send = (text: string) => (w: http.ServerResponse) => void w.writeHead(200, { "Content-Type": "text/event-stream" }).end(text);
    const event = send('id: 1\nevent: merge.changed\ndata: {"cursor":"1"}\n\nevent: end\ndata: {}\n\n');
    const cut = send('id: 0\n\nevent: error\ndata: {"code":"LIMIT_REACHED","message":"too slow"}\n\n');
    for (const [want, ...answers] of [
      ["LIMIT_REACHED", refuse("LIMIT_REACHED"), event],
      ["CURSOR_EXPIRED", refuse("CURSOR_EXPIRED"), event],
      ["", cut, event],
      ["LIMIT_REACHED", cut, refuse("LIMIT_REACHED"), event],
      ["", refuse("CLOSED"), event],
    ] as [string, ...((w: http.ServerResponse) => void)[]][]) {
      await answering(path, answers, async () => {
        const events = new Croft({ dir: null, env: { CROFT_SOCKET: path } }).events();
        assert.equal(await codeOf(events.next()), want);
      });
    }
  }),
);

/** A transport whose attempts are a function of the test. */
class Tried extends Transport {
  tries = 0;

  constructor(private readonly attempt: (n: number) => Promise<unknown>) {
    super({ env: { CROFT_SOCKET: "/none" }, dir: null, patience: 1 });
    this.hasAnswered = true;
  }

  override once(): Promise<unknown> {
    return this.attempt(++this.tries);
  }
}

const keyed = { method: "POST", path: "/v1/x", fields: {}, keyed: true } as const;

test("patience is counted from when the daemon has gone", short, async () => {
  const long = new Tried(async (n) => {
    if (n === 1) await sleep(1300);
    if (n < 3) throw new Error("the connection is lost");
    return {};
  });
  await long.send(keyed);
  assert.equal(long.tries, 3);
  const refused = new Tried(async (n) => {
    if (n > 2) return {};
    await sleep(1300); // a network that drops packets
    throw Object.assign(new Error("timeout"), { syscall: "connect" });
  });
  assert.deepEqual([await codeOf(refused.send(keyed)), refused.tries], ["DAEMON_UNREACHABLE", 1]);
});

test("a pause is aborted with the reason of the signal", short, async () => {
  const stop = new AbortController();
  const away = new Tried(() => {
    setTimeout(() => stop.abort(new Error("enough")), 10);
    return Promise.reject(new Error("the connection is lost"));
  });
  await assert.rejects(away.send({ ...keyed, options: { signal: stop.signal } }), /enough/);
  const halt = new AbortController();
  await inDir((dir) =>
    answering(join(dir, "s"), [(w) => {
      w.writeHead(200).end();
      setTimeout(() => halt.abort(new Error("enough")), 20);
    }], async () => {
      await assert.rejects(new Croft({ dir: null, env: { CROFT_SOCKET: join(dir, "s") } }).events({ signal: halt.signal }).next(), /enough/);
    }),
  );
});

test("a daemon that was not reached has seen nothing", short, async () => {
  const refused = Object.assign(new Error("refused"), { syscall: "connect" });
  assert.equal(isNotSent(new AggregateError([refused, refused])), true);
  assert.equal(isNotSent(new AggregateError([refused, new Error("reset")])), false);
  assert.equal(isNotSent(new AggregateError([])), false);
  const port = await new Promise<number>((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => done(port));
    });
  });
  for (const url of [`http://localhost:${port}`, "http://nowhere.invalid:1"]) {
    assert.equal(await codeOf(new Croft({ dir: null, env: { CROFT_URL: url } }).repos()), "DAEMON_UNREACHABLE", url);
    assert.equal(await codeOf(new Croft({ dir: null, env: { CROFT_URL: url } }).renew("l")), "DAEMON_UNREACHABLE", url);
  }
});

test("a socket at which nobody listens is passed over", options, () =>
  Daemon.run(async (d) => {
    const dead = join(d.dir, "dead");
    // A process that is killed leaves its socket.
    spawnSync(process.execPath, ["-e", `require("net").createServer().listen(${JSON.stringify(dead)}, () => process.kill(process.pid, "SIGKILL"))`]);
    assert.ok(lstatSync(dead).isSocket());
    writeFileSync(join(d.env.CROFT_STATE_DIR!, "run", "daemon.json"), JSON.stringify({ socket: dead }));
    const croft = new Croft({ dir: d.repo, env: d.env });
    assert.equal((await croft.countActive()).active, 0);
    for await (const event of croft.events({ follow: "none" })) assert.ok(event.cursor);
    croft.close();
  }),
);

test("the second call of finish waits for the first", options, () =>
  Daemon.run(async (d) => {
    const ws = await d.croft.workspace("a", { onSuccess: "merge" });
    d.write(ws.path, "f", "1\n");
    const [first, second] = await Promise.all([ws.finish(), ws.finish()]);
    assert.deepEqual([first?.status, second?.id], ["merged", first?.id]);
    const other = await d.croft.workspace("b", { onSuccess: "merge" });
    d.write(other.path, "g", "1\n");
    const ending = other.finish();
    await other[Symbol.asyncDispose]();
    assert.equal(other.merge?.status, "merged");
    await ending;
  }),
);

test("a lease that was not renewed in time is lost", options, () =>
  Daemon.run(async (d) => {
    class Away extends Croft {
      override renew(): Promise<never> {
        return Promise.reject(new Error("no"));
      }
    }
    const croft = new Away({ dir: d.repo, env: d.env });
    const ws = await croft.workspace("a", { ttl: "1.5s" });
    await sleep(1000);
    assert.equal(ws.signal.aborted, false);
    for (let i = 0; i < 100 && !ws.signal.aborted; i++) await sleep(50);
    assert.equal(ws.signal.aborted, true);
    await ws.finish("failed").catch(() => undefined);
    croft.close();
  }),
);

test("a daemon that does not answer keeps no loss back", options, () =>
  Daemon.run(async (d) => {
    const ws = await d.croft.workspace("a", { ttl: "1.6s" }); // a third of it is no whole number
    d.signal("SIGSTOP");
    try {
      for (let i = 0; i < 200 && !ws.signal.aborted; i++) await sleep(50);
      assert.equal(ws.signal.aborted, true);
    } finally {
      d.signal("SIGCONT");
    }
    await ws.finish("failed").catch(() => undefined); // the lease may be over
  }),
);

test("a client can be made in a directory that was removed", short, () =>
  inDir(async (dir) => {
    const program = `
      const { mkdirSync, rmdirSync } = await import("node:fs");
      mkdirSync("gone"); process.chdir("gone"); rmdirSync("../gone");
      const { Croft } = await import(${JSON.stringify(new URL("../src/index.js", import.meta.url).href)});
      new Croft({ env: { CROFT_SOCKET: "/none" } });`;
    writeFileSync(join(dir, "p.mjs"), program);
    execFileSync(process.execPath, [join(dir, "p.mjs")], { cwd: dir, stdio: "pipe" });
  }),
);
