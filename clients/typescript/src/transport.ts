// Requests to the daemon, sent again where that is safe.

import { randomUUID } from "node:crypto";
import * as http from "node:http";
import * as https from "node:https";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { CroftError, unreachable } from "./errors.js";
import { type Env, findSockets, socketPaths } from "./find.js";
import type { Call } from "./generated.js";

export interface TransportOptions {
  env: Env;
  dir: string | null;
  actor?: string;
  patience: number;
}

// How long a call waits before the next attempt.
const pause = 50;
// An attempt that took longer ended because the daemon went away.
const long = 1000;

/** The way to one daemon. */
export class Transport {
  readonly patience: number;
  hasAnswered = false;
  private readonly env: Env;
  private readonly url: string;
  private readonly token: string;
  private readonly actor: string;
  private agent: http.Agent;

  constructor(o: TransportOptions) {
    this.env = o.env;
    this.url = o.env.CROFT_SOCKET ? "" : (o.env.CROFT_URL ?? "");
    this.token = this.url ? (o.env.CROFT_TOKEN ?? "") : "";
    const actor = new URLSearchParams();
    if (o.actor) actor.set("name", o.actor);
    const dir = o.dir === null ? undefined : absolute(o.dir);
    if (dir) actor.set("dir", dir);
    const from = this.url ? undefined : absolute("."); // in a workspace, this process acts for the agent of that
    if (from) actor.set("from", from);
    this.actor = actor.toString();
    this.patience = o.patience;
    this.agent = this.newAgent();
  }

  private newAgent(): http.Agent {
    const options = { keepAlive: true, maxFreeSockets: 8 };
    return this.url.startsWith("https:") ? new https.Agent(options) : new http.Agent(options);
  }

  /** Whether the daemon sees the processes of this machine by their numbers. */
  get isLocal(): boolean {
    return !this.url;
  }

  /** Where the daemon should be. */
  get where(): string {
    return this.url || socketPaths(this.env).join(", ");
  }

  close(): void {
    this.agent.destroy();
    this.agent = this.newAgent();
  }

  /** Sends a request, and resolves with the head of its answer. */
  async open(method: string, path: string, headers: Record<string, string>, body?: string, signal?: AbortSignal, agent?: http.Agent | false): Promise<http.IncomingMessage> {
    const options: https.RequestOptions = { method, path, headers: { ...headers }, agent: agent ?? this.agent, signal };
    const sent = options.headers as Record<string, string>;
    if (this.token) sent["Authorization"] = `Bearer ${this.token}`;
    if (this.actor) sent["Croft-Actor"] = this.actor;
    if (body !== undefined) {
      sent["Content-Type"] = "application/json";
      sent["Content-Length"] = String(Buffer.byteLength(body));
    }
    if (this.url) {
      const at = new URL(this.url);
      Object.assign(options, { protocol: at.protocol, hostname: at.hostname.replace(/^\[|\]$/g, ""), port: at.port || undefined });
      return start(at.protocol === "https:" ? https.request : http.request, options, body);
    }
    sent["Host"] = "croft";
    let failure: unknown;
    for (const socketPath of findSockets(this.env)) {
      try {
        return await start(http.request, { ...options, socketPath }, body);
      } catch (e) {
        if (!isNobody(e)) throw e;
        failure = e;
      }
    }
    throw failure;
  }

  /**
   * Makes a call. One that only reads, and one that has a key, is made again while the daemon
   * is away; any other one only if the daemon cannot have seen it.
   */
  async send(call: Call): Promise<unknown> {
    const headers: Record<string, string> = {};
    if (call.options?.wait) headers["Prefer"] = `wait=${Math.max(1, Math.round(call.options.wait))}`;
    let { path } = call;
    let body: string | undefined;
    let canRepeat = call.method === "GET";
    if (call.method === "GET") {
      const text = queryOf(call.fields).toString();
      if (text) path += "?" + text;
    } else {
      body = JSON.stringify(call.keyed ? { ...call.fields, key: (call.fields as { key?: string }).key || randomUUID() } : call.fields);
      canRepeat = call.keyed;
    }
    const signal = call.options?.signal;
    let until = Date.now() + this.patience * 1000;
    for (;;) {
      signal?.throwIfAborted();
      const begun = Date.now();
      try {
        const answer = await this.once(call.method, path, headers, body, signal);
        this.hasAnswered = true;
        return answer;
      } catch (e) {
        if (signal?.aborted) throw signal.reason;
        // The daemon was there as long as the attempt took, and has only now gone.
        if (!isNotSent(e) && Date.now() - begun > long) until = Date.now() + this.patience * 1000;
        const late = Date.now() >= until;
        if (e instanceof CroftError) {
          if (e.code !== "CLOSED" || !canRepeat || late) throw e; // CLOSED: the daemon stops, the next one answers
        } else if (isNotSent(e)) {
          if (!this.hasAnswered || late) throw unreachable(this.where, e);
        } else if (!canRepeat || late) {
          throw gone(e);
        }
      }
      await rest(signal);
    }
  }

  /** Makes a call once. */
  async once(method: string, path: string, headers: Record<string, string>, body?: string, signal?: AbortSignal): Promise<unknown> {
    return read(await this.open(method, path, headers, body, signal));
  }
}

/** The absolute path of a directory, unless the working directory was removed. */
function absolute(dir: string): string | undefined {
  try {
    return resolve(dir);
  } catch {
    return undefined;
  }
}

function start(request: typeof http.request, options: https.RequestOptions, body?: string): Promise<http.IncomingMessage> {
  return new Promise((done, fail) => {
    const sent = request(options, done);
    sent.on("error", fail);
    sent.end(body);
  });
}

/** Waits for the next attempt. Rejects with the reason of the signal. */
export async function rest(signal?: AbortSignal): Promise<void> {
  try {
    await sleep(pause, undefined, { signal });
  } catch (e) {
    signal?.throwIfAborted();
    throw e;
  }
}

/** Whether the daemon cannot have seen a request. */
export function isNotSent(e: unknown): boolean {
  // A name with several addresses has an error for each of them.
  if (e instanceof AggregateError) return e.errors.length > 0 && e.errors.every(isNotSent);
  const { syscall } = (e ?? {}) as NodeJS.ErrnoException;
  return syscall === "connect" || syscall === "getaddrinfo";
}

/** Whether nobody listens at a socket. */
function isNobody(e: unknown): boolean {
  const { code } = (e ?? {}) as NodeJS.ErrnoException;
  return isNotSent(e) && (code === "ECONNREFUSED" || code === "ENOENT");
}

function gone(cause: unknown): CroftError {
  const details = `${String(cause)}\nWhat the call had begun is finished or rolled back by the next process that opens Croft.`;
  return new CroftError({ code: "CLOSED", message: "the daemon went away in the middle of the call", details, hint: "croft serve --status" }, true, cause);
}

/** The fields of a request as a query has them. */
export function queryOf(fields: object): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === null) continue;
    if (Array.isArray(value)) for (const item of value) query.append(name, String(item));
    else if (typeof value === "object") for (const [key, item] of Object.entries(value)) query.append(`${name}[${key}]`, String(item));
    else query.append(name, String(value));
  }
  return query;
}

/** Reads an answer, or throws its problem. */
export async function read(response: http.IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  const status = response.statusCode ?? 0;
  let value: unknown;
  try {
    value = JSON.parse(Buffer.concat(parts).toString("utf8"));
  } catch {
    value = undefined;
  }
  if (status >= 200 && status < 300 && value !== undefined) return value;
  if (typeof value === "object" && value !== null && "code" in value) {
    throw new CroftError(value as ConstructorParameters<typeof CroftError>[0], response.headers["retry-after"] !== undefined);
  }
  throw new CroftError({ code: "INTERNAL", message: `the daemon answered with ${status}`, status });
}
