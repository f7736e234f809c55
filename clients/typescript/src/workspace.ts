// A workspace for as long as a block of code needs it.

import { hostname } from "node:os";

import type { Croft } from "./client.js";
import { CroftError } from "./errors.js";
import type { CreateRequest, Lease, Merge, Outcome, Workspace } from "./generated.js";

// Older versions of node have no such symbol.
(Symbol as { asyncDispose?: symbol }).asyncDispose ??= Symbol.for("Symbol.asyncDispose");

/** How a workspace is made, and what becomes of it. */
export interface WorkspaceOptions extends Omit<CreateRequest, "name"> {
  /** What becomes of the work of a block that succeeded. Default: "keep". */
  onSuccess?: "keep" | "merge";
  /** "take": if there is a workspace of this name, that one. Default: "refuse". */
  existing?: "refuse" | "take";
  /** How long the lease lasts if it is not renewed, such as "1m". */
  ttl?: string;
  /** Of the commit. */
  message?: string;
}

/** A workspace whose lease is held, and renewed in the background. */
export class Held {
  /** Aborted when the lease was lost, or could not be renewed in time: the work should end. */
  readonly signal: AbortSignal;
  /** What became of the work, once it was finished. */
  merge: Merge | undefined;

  private readonly lost = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private renewing: Promise<void> = Promise.resolve();
  private finishing: Promise<Merge | undefined> | undefined;

  private constructor(
    private readonly croft: Croft,
    /** The workspace as it was when it was made. */
    readonly workspace: Workspace,
    readonly lease: Lease,
    private readonly options: WorkspaceOptions,
    private renewedAt: number,
  ) {
    this.signal = this.lost.signal;
    this.renewAfter(this.ttl / 3);
  }

  /** Makes a workspace and takes its lease. */
  static async make(croft: Croft, name: string, options: WorkspaceOptions): Promise<Held> {
    const { onSuccess: _onSuccess, existing, ttl, message: _message, ...create } = options;
    let workspace: Workspace;
    try {
      workspace = await croft.create({ name, ...create });
    } catch (e) {
      if (!(e instanceof CroftError) || e.code !== "WORKTREE_EXISTS" || existing !== "take") throw e;
      workspace = await croft.getWorkspace(`name:${name}`, { repo: create.repo });
    }
    // The daemon sees a process on its own machine; of another machine it only believes the
    // time until which the lease was renewed.
    const owner = { host: croft.isLocal ? "" : hostname(), pid: process.pid };
    const asked = Date.now();
    const lease = await croft.takeLease(`id:${workspace.id}`, { repo: workspace.repo, owner, ttl, mode: "exclusive" });
    return new Held(croft, workspace, lease, options, asked);
  }

  get name(): string {
    return this.workspace.name;
  }

  get path(): string {
    return this.workspace.path;
  }

  /** What a process that works here should have in its environment. */
  get env(): Record<string, string> {
    return this.workspace.env ?? {};
  }

  private get ttl(): number {
    return durationMs(this.lease.ttl ?? "1m");
  }

  private renewAfter(ms: number): void {
    if (this.finishing) return;
    this.timer = setTimeout(() => {
      this.renewing = this.renew();
    }, ms);
    this.timer.unref();
  }

  private async renew(): Promise<void> {
    const asked = Date.now();
    try {
      // A daemon that does not answer must not keep the loss back.
      await this.croft.renew(this.lease.id, { signal: AbortSignal.timeout(Math.ceil(this.ttl / 3)) });
      this.renewedAt = asked;
      this.renewAfter(this.ttl / 3);
    } catch (e) {
      const isLost = (e instanceof CroftError && e.code === "LEASE_LOST") || Date.now() - this.renewedAt >= this.ttl;
      if (isLost) this.lost.abort(e);
      else this.renewAfter(Math.min(this.ttl / 3, 1000)); // the daemon is away; the lease lives on until it expires
    }
  }

  /**
   * Ends the lease and commits the work; after a success it is merged if the options say so,
   * and the promise resolves when the merge has ended. Only the first call does something; the
   * others resolve with the same.
   */
  async finish(outcome: Outcome = "succeeded"): Promise<Merge | undefined> {
    this.finishing ??= this.end(outcome);
    return this.finishing;
  }

  private async end(outcome: Outcome): Promise<Merge | undefined> {
    clearTimeout(this.timer);
    await this.renewing;
    const policy = outcome === "succeeded" && this.options.onSuccess === "merge" ? "merge" : "keep";
    // A lease that was lost is refused, and nothing is committed.
    const merge: Merge | null = await this.croft.finish("", { repo: this.workspace.repo, lease: this.lease, outcome, policy, message: this.options.message });
    if (merge?.id) this.merge = await this.croft.waitMerge(merge.id);
    return this.merge;
  }

  /** At the end of a block with `await using`: what was not finished has failed, and is kept. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.finishing) await this.finish("failed");
    else await this.finishing.catch(() => undefined); // who called finish is told
  }
}

const units: Record<string, number> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1, µs: 1e-3, us: 1e-3, ns: 1e-6 };

/** Reads a duration such as "1h30m" or "1.5s", as milliseconds. */
export function durationMs(text: string): number {
  let ms = 0;
  for (const [, number, unit] of text.matchAll(/([0-9.]+)(h|ms|m|s|µs|us|ns)/g)) ms += Number(number) * units[unit!]!;
  return text.startsWith("-") ? -ms : ms;
}
