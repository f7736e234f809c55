package mcp

import (
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/pattern"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// failure is an error as a model reads it.
type failure struct {
	Code      croft.Code        `json:"code"`
	Message   string            `json:"message"`
	Details   string            `json:"details,omitempty"`
	Hint      string            `json:"hint,omitempty"`
	Fields    map[string]string `json:"fields,omitempty"`
	Retryable bool              `json:"retryable"`
	After     int               `json:"after,omitempty"` // seconds until a retry makes sense
	LogID     string            `json:"logId,omitempty"` // of the entry in the server's log
	Next      *nextCall         `json:"next,omitempty"`
}

// nextCall is the tool that a model should call after a failure.
type nextCall struct {
	Tool      string `json:"tool"`
	Arguments object `json:"arguments"`
}

// The kinds of codes that are told in a way of their own.
var (
	passing = []croft.Code{croft.WorkspaceBusy, croft.WorkspaceLocked, croft.InProgress, croft.RoundBusy, croft.MergeHeld}
	again   = []croft.Code{croft.TargetMoved, croft.LimitReached, croft.NoSpace}
	missing = []croft.Code{
		croft.WorktreeNotFound, croft.MergeNotFound, croft.TargetNotFound, croft.SessionNotFound, croft.RoundNotFound, croft.ReviewNotFound,
		croft.OperationNotFound, croft.SnapshotNotFound, croft.RoleNotFound, croft.BaseNotFound,
	}
	inWork   = []croft.Code{croft.Conflict, croft.CheckFailed, croft.TargetMoved, croft.BaseMoved, croft.HostDirty, croft.WorkChanged}
	ofHost   = []croft.Code{croft.ReadOnly, croft.StateUnavailable, croft.NotWritable, croft.GitNotFound, croft.GitTooOld, croft.ConfigInvalid}
	internal = []croft.Code{croft.Internal, croft.GitFailed, croft.DiskError}
)

// retryAfter is how many seconds a model waits before it repeats a call that met something
// that passes.
const retryAfter = 5

// failureOf describes an error. Errors of the machinery are logged under an ID, and told
// without what they say of the host.
func (s *Server) failureOf(err error) failure {
	e := croft.AsError("", err)
	f := failure{Code: e.Code, Message: cut(e.Message, maxText), Details: tail(e.Details, maxLog), Hint: cut(e.Hint, maxText), Fields: e.Fields}
	has := func(codes []croft.Code) bool { return slices.Contains(codes, e.Code) }
	switch {
	case has(passing):
		f.Retryable, f.After = true, retryAfter
	case has(missing):
		if s.scope.Kind == KindOrchestrator || s.scope.Kind == KindReadOnly {
			f.Next = &nextCall{"list", object{}}
		}
	case e.Code == croft.ChecksUntrusted:
		f.Message = "a person must approve: croft config trust"
	case has(ofHost):
		f.Message = "this host cannot: " + f.Message
	case has(internal):
		f.LogID = strings.ToLower(rand.Text()[:8])
		s.log.Printf("%s: %s: %v: %s", f.LogID, e.Code, err, e.Details)
		f.Message, f.Details, f.Hint, f.Fields = withoutPaths(f.Message), "", "", nil
	}
	if has(inWork) {
		f.Next = &nextCall{"status", object{}}
		if path := firstPath(e); path != "" {
			f.Next = &nextCall{"diff", object{"path": path}}
		}
	}
	f.Retryable = f.Retryable || has(again)
	return f
}

// firstPath returns the file that a conflict is about, if its error names one.
func firstPath(e *croft.Error) string {
	if e.Code != croft.Conflict {
		return ""
	}
	if path := e.Fields["path"]; path != "" {
		return path
	}
	line, _, _ := strings.Cut(e.Details, "\n")
	if line = strings.TrimSpace(line); line == "" || len(line) > maxText/4 || strings.ContainsAny(line, " :") {
		return ""
	}
	return line
}

var hostPath = pattern.New(`(^|[\s"'(=:])/[^\s"':)]+`)

// withoutPaths takes absolute paths out of a message.
func withoutPaths(message string) string { return hostPath().ReplaceAllString(message, "$1…") }

// errorResult is a failure as the result of a call: one block of text, and no structured
// content, which clients would hold to the schema of an answer.
func (s *Server) errorResult(err error) *sdk.CallToolResult {
	text, jerr := encode(object{"error": s.failureOf(err)})
	if jerr != nil || len(text) > maxAnswer {
		text = []byte(`{"error":{"code":"INTERNAL","message":"the error cannot be told","retryable":false}}`)
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}
}

// encode encodes an answer as JSON with clean texts.
func encode(answer any) ([]byte, error) {
	b, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(b, &value); err != nil {
		return nil, err
	}
	return json.Marshal(cleanAll(value))
}
