// A daemon of its own for each test, with a repository.

import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { Croft, CroftError } from "../src/index.js";

export const binary = process.env.CROFT_BIN;

export class Daemon {
  readonly dir = mkdtempSync(join(tmpdir(), "croft"));
  readonly repo = join(this.dir, "app");
  readonly env: Record<string, string>;
  readonly croft: Croft;
  private process: ChildProcess | undefined;

  private constructor(private readonly flags: string[]) {
    const home = join(this.dir, "home");
    mkdirSync(home);
    this.env = {
      PATH: process.env.PATH ?? "", HOME: home, CROFT_STATE_DIR: join(this.dir, "state"), CROFT_DATA_DIR: join(this.dir, "data"), GIT_CONFIG_NOSYSTEM: "1",
    };
    this.git(this.dir, "config", "--global", "user.name", "Test");
    this.git(this.dir, "config", "--global", "user.email", "test@example.com");
    this.git(this.dir, "init", "-q", "-b", "main", this.repo);
    this.write(this.repo, "README", "hello\n");
    this.git(this.repo, "add", "-A");
    this.git(this.repo, "commit", "-q", "-m", "first");
    this.croft = new Croft({ dir: this.repo, env: this.env, patience: 20 });
  }

  /** Runs a test with a daemon, and ends the daemon. */
  static async run(test: (d: Daemon) => Promise<void>, flags: string[] = []): Promise<void> {
    const d = new Daemon(flags);
    try {
      await d.start();
      await test(d);
    } finally {
      await d.stop();
      d.croft.close();
      rmSync(d.dir, { recursive: true, force: true });
    }
  }

  /** Sends the daemon a signal. */
  signal(name: NodeJS.Signals): void {
    this.process!.kill(name);
  }

  async start(): Promise<void> {
    const log = openSync(join(this.dir, "log"), "a");
    const child = spawn(binary!, ["serve", ...this.flags], { env: this.env, cwd: this.dir, stdio: ["ignore", log, log] });
    this.process = child;
    const croft = new Croft({ dir: null, env: this.env });
    for (const until = Date.now() + 20_000; ; await sleep(20)) {
      try {
        await croft.daemon();
        croft.close();
        return;
      } catch (e) {
        const isWaiting = e instanceof CroftError && e.code === "DAEMON_UNREACHABLE" && Date.now() < until && child.exitCode === null;
        if (!isWaiting) assert.fail(`the daemon does not answer: ${String(e)}\n${this.log()}`);
      }
    }
  }

  async stop(how: NodeJS.Signals = "SIGTERM"): Promise<void> {
    const child = this.process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    const last = setTimeout(() => child.kill("SIGKILL"), 20_000);
    child.kill(how);
    await ended;
    clearTimeout(last);
  }

  log(): string {
    return readFileSync(join(this.dir, "log"), "utf8").slice(-2000);
  }

  /** The environment of a client that has a token. */
  token(access: string, ...flags: string[]): Record<string, string> {
    const made = execFileSync(binary!, ["token", "new", "test-" + access, "--access", access, ...flags, "--json"], { env: this.env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    const { tcp } = JSON.parse(readFileSync(join(this.env.CROFT_STATE_DIR!, "run", "daemon.json"), "utf8")) as { tcp: string[] };
    return { CROFT_URL: `http://${tcp[0]}`, CROFT_TOKEN: (JSON.parse(made) as { secret: string }).secret };
  }

  git(dir: string, ...args: string[]): string {
    return execFileSync("git", args, { cwd: dir, env: this.env, encoding: "utf8" }).trim();
  }

  write(dir: string, name: string, text: string): void {
    writeFileSync(join(dir, name), text);
  }
}

/** The code of the error that a promise rejects with. */
export async function codeOf(p: Promise<unknown>): Promise<string> {
  try {
    await p;
  } catch (e) {
    if (e instanceof CroftError) return e.code;
    throw e;
  }
  return "";
}
