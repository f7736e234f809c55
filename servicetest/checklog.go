package servicetest

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type checkLogScenarios struct{}

// Parts: the output of a check is read in parts, all of it, as it was printed.
func (checkLogScenarios) Parts(t *testing.T, f *fixture) {
	const printed = "one\x00\xff\ntwo\n"
	f.writeIn(croft.Workspace{Path: f.Dir}, "said", printed)
	m := f.failingCheck("cat said; test ! -e a.txt")
	var all []byte
	req := croft.CheckLogRequest{Merge: m.ID, Limit: 3}
	for {
		part, err := f.CheckLog(t.Context(), req)
		must(t, err)
		if part.Merge != m.ID || part.WorkspaceName != "a" || part.Offset != req.Offset || part.Check.Passed || len(part.Data) > 3 {
			t.Fatalf("a part is %+v", part)
		}
		all = append(all, part.Data...)
		if req.Offset = part.Next; part.Next >= part.Size {
			break
		}
	}
	if !bytes.Contains(all, []byte(printed)) || !strings.HasPrefix(string(all), "$ cat said; test ! -e a.txt\n") {
		t.Errorf("read %q", all)
	}
	whole, err := f.CheckLog(t.Context(), croft.CheckLogRequest{Merge: m.ID, Check: m.Checks[0].ID})
	must(t, err)
	if !bytes.Equal(whole.Data, all) {
		t.Errorf("by its ID %q", whole.Data)
	}
	past, err := f.CheckLog(t.Context(), croft.CheckLogRequest{Merge: m.ID, Offset: whole.Size + 10})
	if err != nil || len(past.Data) != 0 {
		t.Errorf("after the end: %+v, %v", past, err)
	}
}

// Refused: what there is no output of has a code.
func (checkLogScenarios) Refused(t *testing.T, f *fixture) {
	failed := f.failingCheck("test ! -e a.txt")
	f.Git("rm", "--quiet", "croft.toml")
	f.Git("commit", "--quiet", "--message", "no checks")
	plain := f.landed("b")
	for name, c := range map[string]struct {
		req  croft.CheckLogRequest
		want croft.Code
	}{
		"no merge":  {croft.CheckLogRequest{Merge: "aaaaaaaaaaaaaaaa"}, croft.MergeNotFound},
		"no check":  {croft.CheckLogRequest{Merge: failed.ID, Check: "aaaaaaaaaaaaaaaa"}, croft.CheckNotFound},
		"no checks": {croft.CheckLogRequest{Merge: plain.ID}, croft.CheckNotFound},
		"before":    {croft.CheckLogRequest{Merge: failed.ID, Offset: -1}, croft.InvalidRequest},
		"less":      {croft.CheckLogRequest{Merge: failed.ID, Limit: -1}, croft.InvalidRequest},
	} {
		if _, err := f.CheckLog(t.Context(), c.req); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// failingCheck merges a workspace with the file a.txt, with which the command, an approved
// check of the target, fails.
func (f *fixture) failingCheck(command string) croft.Merge {
	f.t.Helper()
	f.writeIn(croft.Workspace{Path: f.Dir}, "croft.toml", "[merge]\nchecks = ["+quoteTOML(command)+"]\n")
	f.Git("add", "--all")
	f.Git("commit", "--quiet", "--message", "checks")
	plan, err := f.Checks(f.t.Context(), croft.ChecksRequest{})
	must(f.t, err)
	_, err = f.Approve(f.t.Context(), croft.ApproveRequest{Hash: plan.Hash})
	must(f.t, err)
	w := f.create(croft.CreateRequest{Name: "a"})
	f.writeIn(w, "a.txt", "a\n")
	m, err := f.SubmitMerge(f.t.Context(), croft.MergeRequest{Workspace: "a"})
	must(f.t, err)
	m, err = f.WaitMerge(f.t.Context(), croft.WaitRequest{Merge: m.ID})
	must(f.t, err)
	if m.Status != croft.MergePending || len(m.Checks) == 0 {
		f.t.Fatalf("the check passed: %+v", m)
	}
	return *m
}

func quoteTOML(text string) string { return `"` + strings.ReplaceAll(text, `"`, `\"`) + `"` }
