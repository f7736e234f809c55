// Events as they happen, over as many connections as it takes.

import { CroftError, unreachable } from "./errors.js";
import type { Event, EventKind } from "./generated.js";
import { type Transport, isNotSent, queryOf, read, rest } from "./transport.js";

/** Which events are wanted. */
export interface EventsOptions {
  /** The cursor of an event or of a list. */
  after?: string;
  /** "now": only those from now on. Default: from the oldest one that is kept. */
  from?: "now";
  /** The ID of a project, as in Workspace.repoId; default: all projects. */
  repo?: string;
  /** Only these. */
  kinds?: EventKind[];
  /** "none": end with the last event that there is. Default: wait for more. */
  follow?: "new" | "none";
  /** For how many seconds the daemon may be away. Default: that of the client. */
  patience?: number;
  signal?: AbortSignal;
}

// The daemon says that it is alive every 15 seconds.
const silence = 45_000;

interface Message {
  id: string;
  kind: string;
  data: string;
}

/** Reads the lines of server-sent events. */
export class Parser {
  private id = "";
  private kind = "";
  private data: string[] = [];
  private rest = "";

  /** Takes a part of a stream, and returns the messages that are whole. */
  feed(part: string): Message[] {
    const lines = (this.rest + part).split("\n");
    this.rest = lines.pop() ?? "";
    const messages: Message[] = [];
    for (const line of lines) {
      if (line === "" || line === "\r") {
        // One with an id alone tells how far the stream has come.
        if (this.kind || this.id) messages.push({ id: this.id, kind: this.kind, data: this.data.join("\n") });
        this.id = this.kind = "";
        this.data = [];
        continue;
      }
      const at = line.indexOf(":");
      const field = at < 0 ? line : line.slice(0, at);
      const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "").replace(/\r$/, "");
      if (field === "id") this.id = value;
      else if (field === "event") this.kind = value;
      else if (field === "data") this.data.push(value);
    }
    return messages;
  }
}

/**
 * Yields events in order, each once. A connection that ends is followed by the next one, which
 * begins after `at.last`.
 */
export async function* follow(transport: Transport, options: EventsOptions, at = { last: "" }): AsyncGenerator<Event, void, undefined> {
  const { signal, patience = transport.patience, ...wanted } = options;
  const path = "/v1/events?" + queryOf({ follow: "new", ...wanted }).toString();
  let since = Date.now(); // when the daemon was last seen
  for (;;) {
    signal?.throwIfAborted();
    let cause: unknown;
    let hasBegun = false; // the daemon has not refused this connection
    const ended = new AbortController();
    const stop = () => ended.abort();
    signal?.addEventListener("abort", stop);
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (at.last) headers["Last-Event-ID"] = at.last;
      const response = await transport.open("GET", path, headers, undefined, ended.signal, false);
      if (response.statusCode !== 200) await read(response);
      hasBegun = transport.hasAnswered = true;
      response.setTimeout(silence, stop);
      response.setEncoding("utf8");
      const parser = new Parser();
      for await (const part of response) {
        for (const message of parser.feed(part as string)) {
          if (message.kind === "end") return;
          if (message.kind === "error") throw new CroftError(JSON.parse(message.data));
          if (message.id) at.last = message.id;
          if (message.kind) yield JSON.parse(message.data) as Event;
        }
      }
    } catch (e) {
      if (signal?.aborted) throw signal.reason;
      // The daemon stops, or it cut a reader that was too slow: nothing is lost. LIMIT_REACHED
      // instead of a stream means that there are too many.
      if (e instanceof CroftError && e.code !== "CLOSED" && !(e.code === "LIMIT_REACHED" && hasBegun)) throw e;
      if (!transport.hasAnswered && isNotSent(e)) throw unreachable(transport.where, e);
      cause = e;
    } finally {
      signal?.removeEventListener("abort", stop);
      stop();
    }
    if (hasBegun) since = Date.now(); // it may have been silent for long
    if (Date.now() - since >= patience * 1000) throw unreachable(transport.where, cause);
    await rest(signal);
  }
}
