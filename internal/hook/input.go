// Package hook says what the hooks of coding agents mean: which state a session of Claude Code
// or of Codex is in, what it waits for, which worktree is wanted or not needed any more. It reads
// one JSON value and knows nothing of workspaces. All of the input is an agent's word: notes have
// one line, no control characters, and no secrets that can be told by their form.
package hook

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/croft-sh/croft"
)

// Agent is a program whose hooks are understood.
type Agent string

// The agents.
const (
	Claude Agent = "claude"
	Codex  Agent = "codex"
)

// maxInput is how many bytes the value of a hook may have. The whole input of a tool is in it.
const maxInput = 32 << 20

// Read reads one JSON value, and nothing after it: the standard input of a hook may stay open.
// It gives up when ctx ends, with the reading left to a goroutine of its own.
func Read(ctx context.Context, r io.Reader) (json.RawMessage, error) {
	type result struct {
		value json.RawMessage
		err   error
	}
	done := make(chan result, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil { // an agent obeys the exit status of a panic
				done <- result{err: invalid(fmt.Sprintf("panic: %v", p))}
			}
		}()
		value, err := readValue(r)
		done <- result{value, err}
	}()
	select {
	case got := <-done:
		return got.value, got.err
	case <-ctx.Done():
		return nil, invalid("the hook was given no whole JSON value in time")
	}
}

func readValue(r io.Reader) (json.RawMessage, error) {
	in := bufio.NewReader(io.LimitReader(r, maxInput))
	if mark, err := in.Peek(3); err == nil && bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = in.Discard(len(mark))
	}
	var value json.RawMessage
	switch err := json.NewDecoder(in).Decode(&value); {
	case errors.Is(err, io.EOF):
		return nil, invalid("the hook was given no input")
	case err != nil:
		return nil, invalid("the hook was given no JSON")
	}
	return value, nil
}

func invalid(message string) error {
	return &croft.Error{Code: croft.InvalidRequest, Op: "hook", Message: message}
}

// object is a JSON object whose members are looked up by their exact names.
type object map[string]json.RawMessage

func asObject(value json.RawMessage) object {
	var o object
	_ = json.Unmarshal(value, &o)
	return o
}

// text returns a member that is a string; another one counts as absent.
func (o object) text(name string) string {
	var s string
	_ = json.Unmarshal(o[name], &s)
	return s
}

// list returns a member that is an array; another one counts as empty.
func (o object) list(name string) []json.RawMessage {
	var items []json.RawMessage
	_ = json.Unmarshal(o[name], &items)
	return items
}
