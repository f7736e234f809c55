package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// effect says what a tool changes.
type effect int

const (
	reads effect = iota
	writes
	destroys // it takes something away, though a person can bring it back
)

// audience says whose tool it is.
type audience int

const (
	forAgents audience = iota
	forOrchestrators
)

// about are the words and the kind of a tool.
type about struct {
	name, title, description string
	audience                 audience
	effect                   effect
}

// tool is one tool of the server.
type tool struct {
	about
	in, out object // schemas
	run     func(ctx context.Context, c *call, arguments json.RawMessage) (any, error)
}

// call is one call of a tool: the Service that it may use, narrowed to the scope.
type call struct {
	*Server
	croft.Service
	named croft.Ref // the workspace that the call names; empty: the server's own
}

// repo is the project that a call is about. The Service of an agent knows its own.
func (c *call) repo() croft.Ref {
	if c.scope.Repo == "" || c.scope.Kind == KindSession {
		return ""
	}
	return croft.ByID(c.scope.Repo)
}

// define makes a tool of a function. Schemas follow from its types.
func define[I, O any](a about, run func(ctx context.Context, c *call, in I) (*O, error)) tool {
	return tool{
		about: a, in: argumentsOf(reflect.TypeFor[I]()), out: answerOf(reflect.TypeFor[O]()),
		run: func(ctx context.Context, c *call, arguments json.RawMessage) (any, error) {
			var in I
			if len(arguments) > 0 {
				if err := json.Unmarshal(arguments, &in); err != nil {
					return nil, err
				}
			}
			return run(ctx, c, in)
		},
	}
}

// tools are all tools, in the order in which they are listed in the documentation.
func tools() []tool {
	return []tool{
		define(about{"status", "Where am I", "Your workspace: branch, target, uncommitted files, commits ahead and behind, overlaps with other agents, ports, environment, set-up steps that failed, and what to do next. Call it first.", forAgents, reads}, status),
		define(about{"diff", "Show work", "The work of a workspace against where it began, uncommitted included. Without path: one line a file. With path: the patch, by pages.", forAgents, reads}, diff),
		define(about{"save", "Commit work", "Commits everything uncommitted in your workspace to its branch. Use it where git commit is not permitted. Files that look like secrets or are too large are held back and named.", forAgents, writes}, save),
		define(about{"conflicts", "Who else changes this", "Workspaces whose work would collide with yours or with the target, uncommitted work included.", forAgents, reads}, conflicts),
		define(about{"report", "Say how it goes", "Tells the people who watch what you are doing, or that you wait and for what.", forAgents, writes}, report),
		define(about{"submit", "Hand in work", "Declares your task done: saves, then queues a merge or leaves it for review, as the project's policy says. Answers at once; status tells how it went.", forAgents, writes}, submit),
		define(about{"provision", "Make ready again", "Repeats the set-up steps of your workspace that failed or whose inputs changed. Commands nobody approved are not run but named.", forAgents, writes}, provision),
		define(about{"list", "List workspaces", "Workspaces of the repository with state, agent state, work and merge status.", forOrchestrators, reads}, list),
		define(about{"create", "Make workspaces", "Makes workspaces, all or none, each with a checkout and a branch of its own, and sets them up.", forOrchestrators, writes}, create),
		define(about{"merge", "Merge work", "Queues the merge of a workspace into its target. head: refuse if the work moved since you looked.", forOrchestrators, writes}, merge),
		define(about{"close", "Remove workspaces", "Moves workspaces to the trash, from where a person can restore them. Refuses unmerged work unless outcome is discard.", forOrchestrators, destroys}, closeWorkspaces),
		define(about{"wait", "Wait for news", "Events after a cursor, or the next ones within a time.", forOrchestrators, reads}, wait),
	}
}

// toolsOf returns the tools of a kind of server. A server without a workspace of its own takes
// the workspace as an argument of each tool for agents, and requires it.
func toolsOf(kind Kind) []tool {
	all := slices.DeleteFunc(tools(), func(t tool) bool {
		switch kind {
		case KindAgent, KindSession:
			return t.audience != forAgents
		case KindReadOnly:
			return t.effect != reads
		}
		return false
	})
	for i := range all {
		if t := &all[i]; t.audience == forAgents && kind != KindAgent {
			nameWorkspace(t.in)
		}
	}
	return all
}

// nameWorkspace adds the workspace to the arguments of a tool.
func nameWorkspace(in object) {
	in["properties"].(object)["workspace"] = object{"type": "string", "description": "Workspace name or id."}
	required, _ := in["required"].([]any)
	in["required"] = append(required, "workspace")
}

// describe returns the tool as the protocol has it.
func (t tool) describe() *sdk.Tool {
	no, isDestructive := false, t.effect == destroys
	notes := &sdk.ToolAnnotations{Title: t.title, OpenWorldHint: &no, ReadOnlyHint: t.effect == reads}
	if t.effect != reads {
		notes.DestructiveHint, notes.IdempotentHint = &isDestructive, true
	}
	return &sdk.Tool{Name: t.name, Description: t.description, InputSchema: t.in, OutputSchema: t.out, Annotations: notes}
}

// handle returns the function by which the protocol calls a tool: arguments that break the
// schema are an error of the protocol, everything else that fails is a result.
func (s *Server) handle(t tool) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (out *sdk.CallToolResult, err error) {
		s.calls.Add(1)
		defer s.calls.Add(-1)
		if err := checkArguments(t.in, req.Params.Arguments); err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: clean(t.name + ": " + cut(err.Error(), maxText))}
		}
		defer func() {
			if p := recover(); p != nil {
				s.log.Printf("%s: panic: %v\n%s", t.name, p, debug.Stack())
				out, err = s.errorResult(&croft.Error{Code: croft.Internal, Op: t.name, Message: "the call failed inside of Croft"}), nil
			}
		}()
		answer, err := s.answer(ctx, t, req.Params.Arguments)
		if ctx.Err() != nil && err != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return s.errorResult(err), nil
		}
		return s.result(t, answer), nil
	}
}

// answer makes a call with the Service that it may use.
func (s *Server) answer(ctx context.Context, t tool, arguments json.RawMessage) (any, error) {
	var named struct {
		Workspace croft.Ref `json:"workspace"`
	}
	if len(arguments) > 0 {
		if err := json.Unmarshal(arguments, &named); err != nil {
			return nil, err
		}
	}
	svc, release, err := s.lent.borrow()
	if err != nil {
		return nil, err
	}
	defer release()
	narrowed, err := s.scope.narrow(ctx, svc, named.Workspace)
	if err != nil {
		return nil, err
	}
	return t.run(ctx, &call{Server: s, Service: narrowed, named: named.Workspace}, arguments)
}

// result is an answer as structured content, and as text for hosts that know only that.
func (s *Server) result(t tool, answer any) *sdk.CallToolResult {
	text, err := encode(answer)
	if err != nil {
		return s.errorResult(err)
	}
	if len(text) > maxAnswer {
		return s.errorResult(&croft.Error{
			Code: croft.LimitReached, Op: t.name, Message: fmt.Sprintf("the answer has %d bytes; at most %d are given", len(text), maxAnswer), Hint: "ask for less: a path, or a smaller limit",
		})
	}
	return &sdk.CallToolResult{StructuredContent: json.RawMessage(text), Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}
}
