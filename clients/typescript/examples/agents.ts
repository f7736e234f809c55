// A web application that gives every agent a worktree of its own, merges what agents made that
// ended well, and lets people merge, discard and revert.
//
//   node dist/examples/agents.js --repo . --port 8080 --run './agent.sh'
//
//   GET  /                         the page
//   GET  /api/agents               all agents, as JSON
//   POST /api/agents {"task": …}   spawn an agent: it merges by itself when it has ended well
//   POST /api/agents/{id}/merge    merge the work of one that was killed, failed or conflicted
//   POST /api/agents/{id}/discard  throw its work away; Croft keeps it in the trash
//   POST /api/agents/{id}/revert   undo its merge
//   POST /api/agents/{id}/kill     end its process
//   GET  /api/events               agent:merged agent:merge-failed agent:discarded agent:reverted
//
// The application has no state of its own: the agents are Croft's workspaces.

import { type ChildProcess, spawn } from "node:child_process";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";

import { Croft, CroftError, type Workspace } from "../src/index.js";

interface Agent {
  id: string;
  task: string;
  worktreePath: string | null;
  branchName: string | null;
  mergeStatus: string | null;
  mergeCommitSha: string | null;
  mergeError: string | null;
  isRunning: boolean;
  /** How many were merged after it. */
  mergedAfter: number;
}

const { values: args } = parseArgs({
  options: { repo: { type: "string", default: "." }, port: { type: "string", default: "0" }, run: { type: "string", default: "./agent.sh" } },
});
const croft = new Croft({ dir: args.repo, actor: "agents" });
const running = new Map<string, ChildProcess>();

/** An agent as the page shows it. */
function agentOf(w: Workspace): Agent {
  return {
    id: w.id!, task: w.meta?.task ?? w.name, worktreePath: w.removedAt ? null : w.path, branchName: w.branch ?? null,
    mergeStatus: w.mergeStatus, mergeCommitSha: w.mergeCommitSha, mergeError: w.mergeMessage ?? null, isRunning: running.has(w.id!), mergedAfter: 0,
  };
}

/** All agents: those at work, and those whose work was merged, discarded or reverted. */
async function agents(): Promise<Agent[]> {
  const all = new Map<string, Agent>();
  for await (const w of croft.iterateWorkspaces({ mergeStatuses: ["merged", "discarded", "reverted"] })) all.set(w.id!, agentOf(w));
  for await (const w of croft.iterateWorkspaces()) all.set(w.id!, agentOf(w));
  for (const a of all.values()) if (a.mergeStatus === "merged" && a.mergeCommitSha) a.mergedAfter = (await croft.planRevert({ ref: a.mergeCommitSha })).later;
  return [...all.values()];
}

/** Starts an agent, and does not wait for its end. */
async function start(task: string): Promise<Agent> {
  const ws = await croft.workspace(`agent-${Date.now().toString(36)}`, { layout: "agents", onSuccess: "merge", meta: { task } });
  const child = spawn("sh", ["-c", args.run!], { cwd: ws.path, env: { ...process.env, ...ws.env, TASK: task }, stdio: "ignore", signal: ws.signal });
  running.set(ws.workspace.id!, child);
  const ended = (outcome: "succeeded" | "failed" | "killed") => {
    running.delete(ws.workspace.id!);
    ws.finish(outcome).catch((e: unknown) => console.error(`agent ${ws.name}: ${String(e)}`));
  };
  child.once("error", () => ended("failed"));
  child.once("exit", (code, signal) => ended(signal ? "killed" : code === 0 ? "succeeded" : "failed"));
  return agentOf(ws.workspace);
}

/** What the buttons do. */
const actions: Record<string, (id: string) => Promise<unknown>> = {
  merge: (id) => croft.submitMerge(`id:${id}`, {}, { wait: 30 }),
  discard: async (id) => {
    const [merge] = (await croft.discard({ workspaces: [`id:${id}`] })).merges;
    if (merge?.reason) throw new CroftError({ code: merge.reason, message: merge.message ?? "", hint: merge.hint, status: 409 });
  },
  revert: async (id) => {
    const { mergeCommitSha } = await croft.getWorkspace(`id:${id}`, { scope: "all" });
    if (!mergeCommitSha) throw new CroftError({ code: "NOT_MERGED", message: "it was not merged", status: 409 });
    return croft.submitRevert({ ref: mergeCommitSha }, { wait: 30 });
  },
  kill: async (id) => running.get(id)?.kill(),
};

const names: Record<string, string> = {
  "merge.merged": "agent:merged", "merge.pending": "agent:merge-failed", "merge.discarded": "agent:discarded", "merge.reverted": "agent:reverted",
};

/** Sends what happens, from now on or after the last event that the browser has seen. */
async function events(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const stop = new AbortController();
  response.on("close", () => stop.abort());
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" }).flushHeaders();
  const last = request.headers["last-event-id"];
  const wanted = { signal: stop.signal, patience: Infinity, ...(typeof last === "string" ? { after: last } : { from: "now" as const }) };
  for await (const event of croft.events(wanted)) {
    const name = names[event.kind];
    if (name) response.write(`id: ${event.cursor}\nevent: ${name}\ndata: ${JSON.stringify({ agentId: event.workspace, mergeId: event.merge })}\n\n`);
  }
}

const escaped = (text: string) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

function row(a: Agent): string {
  const button = (action: string, text: string) => `<form method="post" action="/api/agents/${escaped(a.id)}/${action}"><button>${text}</button></form>`;
  const buttons = a.isRunning ? button("kill", "Kill")
    : a.mergeStatus === "merged" ? button("revert", "Undo Merge") + (a.mergedAfter ? `${a.mergedAfter} merged after this` : "")
    : a.worktreePath && a.mergeStatus !== "discarded" && a.mergeStatus !== "reverted" ? button("merge", "Merge") + button("discard", "Discard")
    : "";
  return `<tr><td>${escaped(a.task)}<td>${a.isRunning ? "running" : escaped(a.mergeStatus ?? "")}<td>${escaped(a.mergeError ?? "")}<td>${buttons}`;
}

const page = (list: Agent[]) => `<!doctype html><meta charset="utf-8"><title>Agents</title>
<form method="post" action="/api/agents"><input name="task" required placeholder="What to do"><button>Spawn</button></form>
<table>${list.map(row).join("\n")}</table>
<script>const s = new EventSource("/api/events"); for (const k of ${JSON.stringify(Object.values(names))}) s.addEventListener(k, () => location.reload())</script>`;

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = "";
  for await (const part of request) if ((text += part).length > 10_000) throw new CroftError({ code: "INVALID_REQUEST", message: "the body is too large", status: 400 });
  return request.headers["content-type"] === "application/json" ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text));
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, , , id, action] = (request.url ?? "").split("/");
  const route = `${request.method} ${request.url}`;
  const json = (status: number, value: unknown) => response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
  const { host, origin } = request.headers;
  if (!own.has(host ?? "") || (origin !== undefined && !own.has(origin.replace("http://", "")))) {
    json(403, { code: "ACCESS_DENIED" }); // another site's page, or another name for this machine
  } else if (route === "GET /") {
    response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(page(await agents()));
  } else if (route === "GET /api/agents") {
    json(200, await agents());
  } else if (route === "GET /api/events") {
    await events(request, response);
  } else if (route === "POST /api/agents") {
    const agent = await start(String((await bodyOf(request)).task ?? ""));
    fromForm(request) ? response.writeHead(303, { Location: "/" }).end() : json(201, agent);
  } else if (request.method === "POST" && id && action && Object.hasOwn(actions, action)) {
    await actions[action]!(decodeURIComponent(id));
    const now = agentOf(await croft.getWorkspace(`id:${decodeURIComponent(id)}`, { scope: "all" }));
    fromForm(request) ? response.writeHead(303, { Location: "/" }).end() : json(200, now);
  } else {
    json(404, { code: "INVALID_REQUEST" });
  }
}

const fromForm = (request: IncomingMessage) => request.headers["content-type"] === "application/x-www-form-urlencoded";
const own = new Set<string>();
const server = createServer((request, response) => {
  handle(request, response).catch((e: unknown) => {
    const [status, body] = e instanceof CroftError ? [e.status || 409, { code: e.code, message: e.message, hint: e.hint }] : [500, { code: "INTERNAL" }];
    if (!response.headersSent) response.writeHead(status, { "Content-Type": "application/json" });
    response.end(response.headersSent ? undefined : JSON.stringify(body));
  });
});
server.listen(Number(args.port), "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  for (const name of ["127.0.0.1", "localhost"]) own.add(`${name}:${port}`);
  console.log(`http://127.0.0.1:${port}/`);
});
