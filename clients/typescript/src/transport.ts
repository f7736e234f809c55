// Requests to the daemon, sent again where that is safe.

import { randomUUID } from "node:crypto";
import * as http from "node:http";
import * as https from "node:https";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { CroftError, unreachable } from "./errors.js";
import { type Env, findSocket, socketPaths } from "./find.js";
import type { Call } from "./generated.js";

export interface TransportOptions {
  env: Env;
  dir: string | null;
  actor?: string;
  patience: number;
}

const pause = 50;

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
    if (o.dir !== null) actor.set("dir", resolve(o.dir));
    if (!this.url) actor.set("from", process.cwd()); // in a workspace, this process acts for the agent of that
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
  open(method: string, path: string, headers: Record<string, string>, body?: string, signal?: AbortSignal, agent?: http.Agent | false): Promise<http.IncomingMessage> {
    const options: https.RequestOptions = { method, path, headers: { ...headers }, agent: agent ?? this.agent, signal };
    const sent = options.headers as Record<string, string>;
    if (this.token) sent["Authorization"] = `Bearer ${this.token}`;
    if (this.actor) sent["Croft-Actor"] = this.actor;
    if (body !== undefined) {
      sent["Content-Type"] = "application/json";
      sent["Content-Length"] = String(Buffer.byteLength(body));
    }
    let start = http.request;
    if (this.url) {
      const at = new URL(this.url);
      Object.assign(options, { protocol: at.protocol, hostname: at.hostname.replace(/^\[|\]$/g, ""), port: at.port || undefined });
      if (at.protocol === "https:") start = https.request;
    } else {
      options.socketPath = findSocket(this.env);
      sent["Host"] = "croft";
    }
    return new Promise((done, fail) => {
      const request = start(options, done);
      request.on("error", fail);
      request.end(body);
    });
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
    const until = Date.now() + this.patience * 1000;
    for (;;) {
      signal?.throwIfAborted();
      try {
        const answer = await this.once(call.method, path, headers, body, signal);
        this.hasAnswered = true;
        return answer;
      } catch (e) {
        if (signal?.aborted) throw signal.reason;
        const late = Date.now() >= until;
        if (e instanceof CroftError) {
          if (e.code !== "CLOSED" || !canRepeat || late) throw e; // CLOSED: the daemon stops, the next one answers
        } else if (isNotSent(e)) {
          if (!this.hasAnswered || late) throw unreachable(this.where, e);
        } else if (!canRepeat || late) {
          throw gone(e);
        }
      }
      await sleep(pause, undefined, { signal });
    }
  }

  /** Makes a call once. */
  async once(method: string, path: string, headers: Record<string, string>, body?: string, signal?: AbortSignal): Promise<unknown> {
    return read(await this.open(method, path, headers, body, signal));
  }
}

/** Whether the daemon cannot have seen a request. */
export function isNotSent(e: unknown): boolean {
  return (e as NodeJS.ErrnoException | undefined)?.syscall === "connect";
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
