import type { Code, Problem } from "./generated.js";

/**
 * A call that failed, for a reason that `code` names. docs/errors.md of Croft has a section for
 * every code: what happened, what state is left, and what to do. A merge that conflicts is no
 * error, but a merge that is pending.
 */
export class CroftError extends Error {
  readonly code: Code;
  /** What git printed, a path, a list of files. */
  readonly details: string;
  /** A command that may help. */
  readonly hint: string;
  /** What was attempted. */
  readonly op: string;
  /** The name of the workspace that it is about. */
  readonly workspace: string;
  /** Parts of the message, for programs. */
  readonly fields: Record<string, string>;
  /** The status of HTTP, or 0 if there was no answer. */
  readonly status: number;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;

  constructor(problem: Partial<Problem> & { code: Code; message: string }, retryable = false, cause?: unknown) {
    super(`${problem.code}: ${problem.message}`, { cause });
    this.name = "CroftError";
    this.code = problem.code;
    this.details = problem.details ?? "";
    this.hint = problem.hint ?? "";
    this.op = problem.op ?? "";
    this.workspace = problem.workspace ?? "";
    this.fields = problem.fields ?? {};
    this.status = problem.status ?? 0;
    this.retryable = retryable;
  }
}

/** Says that no daemon answers. */
export function unreachable(where: string, cause: unknown): CroftError {
  const details = cause === undefined ? where : `${where}: ${String(cause)}`;
  return new CroftError({ code: "DAEMON_UNREACHABLE", message: "no daemon answers", details, hint: "croft serve --detach" }, true, cause);
}
