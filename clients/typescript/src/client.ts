import { CroftError } from "./errors.js";
import { type EventsOptions, follow } from "./events.js";
import type { Env } from "./find.js";
import { type Call, Calls, type Event, type Merge, segment } from "./generated.js";
import { Transport } from "./transport.js";
import { Held, type WorkspaceOptions } from "./workspace.js";

export interface CroftOptions {
  /**
   * Requests that name no project mean the one that this directory lies in. null: they have to
   * name one. Default: the working directory.
   */
  dir?: string | null;
  /** Who acts, for the history. Default: the user of the daemon. */
  actor?: string;
  /** For how many seconds a call is made again while a daemon that has answered before is away. Default: 5. */
  patience?: number;
  /** Instead of the environment of this process. */
  env?: Env;
}

/** What a workspace was for, and what became of it. */
export interface Finished<T> {
  /** What the function returned. */
  value: T;
  /** Absent if there was nothing to merge. Its status is "merged", or "pending" with a reason. */
  merge: Merge | undefined;
}

// How long one request waits for the end of a merge.
const waitSeconds = 30;

/**
 * A client of Croft's daemon. It finds the daemon by itself: at CROFT_SOCKET, or at CROFT_URL
 * with CROFT_TOKEN, or where `croft serve` listens for this user.
 */
export class Croft extends Calls {
  private readonly transport: Transport;

  constructor(options: CroftOptions = {}) {
    super();
    const { dir = ".", actor, patience = 5, env = process.env } = options;
    this.transport = new Transport({ env, dir, actor, patience });
  }

  /** Whether the daemon is reached by a socket of this machine. */
  get isLocal(): boolean {
    return this.transport.isLocal;
  }

  /** Closes the connections that are idle. The client can still be used, and makes new ones. */
  close(): void {
    this.transport.close();
  }

  protected send<T>(call: Call): Promise<T> {
    return this.transport.send(call) as Promise<T>;
  }

  /**
   * Makes a workspace and leases it:
   *
   *     await using ws = await croft.workspace("fix-login", { onSuccess: "merge" });
   *     // … work in ws.path …
   *     await ws.finish();
   *
   * What is not finished at the end of the block has failed, and is kept with its work.
   */
  workspace(name: string, options: WorkspaceOptions = {}): Promise<Held> {
    return Held.make(this, name, options);
  }

  /**
   * Makes a workspace, leases it as long as the function runs, and finishes it: its uncommitted
   * work is committed, and merged with `onSuccess: "merge"`. If the function throws, the
   * workspace is kept with its work.
   */
  async withWorkspace<T>(name: string, options: WorkspaceOptions, work: (ws: Held) => T | Promise<T>): Promise<Finished<T>> {
    const ws = await this.workspace(name, options);
    let value: T;
    try {
      value = await work(ws);
    } catch (e) {
      await ws.finish("failed").catch((failure: unknown) => {
        if (!(failure instanceof CroftError)) throw failure; // what the function threw says more
      });
      throw e;
    }
    return { value, merge: await ws.finish() };
  }

  /**
   * Waits until a merge has ended, over restarts of the daemon too. Its status says how:
   * "merged", or "pending" with the reason why it could not be merged.
   */
  async waitMerge(merge: string, options: { signal?: AbortSignal } = {}): Promise<Merge> {
    for (;;) {
      const found = await this.send<Merge>({
        method: "GET", path: `/v1/merges/${segment(merge)}/wait`, fields: {}, keyed: false, options: { ...options, wait: waitSeconds },
      });
      if (found.state === "done") return found;
    }
  }

  /**
   * Events in order, each once, and then those that happen. When the daemon restarts, they go
   * on after the last one that was seen. With `from: "now"` they begin when the daemon is first
   * asked for one.
   */
  events(options: EventsOptions = {}): AsyncGenerator<Event, void, undefined> {
    return follow(this.transport, options);
  }

  /** The place in the stream of events that the present is at. */
  async cursor(): Promise<string | undefined> {
    // A stream begins with it, also for the token of a workspace, which may list no sessions.
    const at = { last: "" };
    for await (const _ of follow(this.transport, { from: "now", follow: "none" }, at));
    return at.last || undefined;
  }
}
