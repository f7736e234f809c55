/**
 * A client of Croft, the worktree layer for fleets of coding agents.
 *
 * @packageDocumentation
 */
export { Croft, type CroftOptions, type Finished } from "./client.js";
export { CroftError } from "./errors.js";
export type { EventsOptions } from "./events.js";
export * from "./generated.js";
export { Held, type WorkspaceOptions } from "./workspace.js";
