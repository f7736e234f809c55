// Where the daemon is.

import { createHash } from "node:crypto";
import { lstatSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, normalize, resolve } from "node:path";

import { CroftError } from "./errors.js";

export type Env = Record<string, string | undefined>;

function usualState(env: Env): string {
  const base = env.XDG_STATE_HOME ?? "";
  return join(isAbsolute(base) ? base : join(env.HOME || homedir(), ".local", "state"), "croft");
}

/** Where the daemon may listen: where it said that it does, then where one would. */
export function socketPaths(env: Env): string[] {
  if (env.CROFT_SOCKET) return [env.CROFT_SOCKET];
  const state = resolve(env.CROFT_STATE_DIR || usualState(env));
  const paths: string[] = [];
  try {
    const said: unknown = JSON.parse(readFileSync(join(state, "run", "daemon.json"), "utf8")).socket;
    if (typeof said === "string" && isAbsolute(said)) paths.push(said);
  } catch {
    // no daemon has run, or its file is broken
  }
  const rule = byRule(env, state);
  if (!paths.includes(rule)) paths.push(rule);
  return paths;
}

function byRule(env: Env, state: string): string {
  const runtime = env.XDG_RUNTIME_DIR ?? "";
  if (!isAbsolute(runtime) || !isPrivate(runtime)) return join(state, "run", "daemon.sock");
  const name = state === normalize(usualState(env)) ? "daemon.sock" : `daemon-${createHash("sha256").update(state).digest("hex").slice(0, 12)}.sock`;
  return join(runtime, "croft", name);
}

/** Whether a path is a directory of this user that no other one may enter. */
function isPrivate(path: string): boolean {
  try {
    const info = lstatSync(path);
    return info.isDirectory() && info.uid === process.geteuid?.() && (info.mode & 0o077) === 0;
  } catch {
    return false;
  }
}

/** The user that a socket belongs to, or undefined if there is none. */
function socketOwner(path: string): number | undefined {
  try {
    const info = lstatSync(path);
    return info.isSocket() ? info.uid : undefined;
  } catch {
    return undefined;
  }
}

/** Those of the paths that are sockets, or the last one if none is. One of another user is refused. */
export function findSockets(env: Env): string[] {
  const paths = socketPaths(env);
  const me = process.geteuid?.();
  const found = paths.filter((path) => {
    const owner = socketOwner(path);
    if (owner !== undefined && me !== undefined && owner !== me) {
      throw new CroftError({ code: "ACCESS_DENIED", message: `the socket is of user ${owner}`, details: path });
    }
    return owner !== undefined;
  });
  return found.length > 0 ? found : paths.slice(-1);
}
