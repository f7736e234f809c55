package engine

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// withChecks returns a project whose main asks for checks, and an engine in it with more variables.
func withChecks(t *testing.T, more ...string) (*gittest.Repo, *Engine) {
	t.Helper()
	g := gittest.New(t)
	g.Write("croft.toml", "[merge]\nchecks = [\"true\"]\n")
	g.Commit("checks")
	e, err := Open(t.Context(), g.Dir, &Options{Environ: append(slices.Clone(g.Env), more...)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return g, e
}

// TestTrustVariableNamesOneHash: the variable approves the checks whose hash it names, and no others.
func TestTrustVariableNamesOneHash(t *testing.T) {
	t.Parallel()
	_, e := withChecks(t, "CROFT_TRUST="+strings.Repeat("0", 64))
	if plan, err := e.Checks(t.Context(), croft.ChecksRequest{}); err != nil || plan.IsApproved || plan.IsNamed {
		t.Errorf("%+v, %v", plan, err)
	}
}

// TestApprovalFromInside: a service that stands in the project refuses an approval of a caller that is in a workspace, or may
// be, and that of no checks.
func TestApprovalFromInside(t *testing.T) {
	t.Parallel()
	g, e := withChecks(t)
	plan, err := e.Checks(t.Context(), croft.ChecksRequest{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := e.Create(t.Context(), croft.CreateRequest{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		req  croft.ApproveRequest
		want croft.Code
	}{
		"from":         {croft.ApproveRequest{Hash: plan.Hash, From: w.Path}, croft.ChecksUntrusted},
		"repo":         {croft.ApproveRequest{Hash: plan.Hash, Repo: w.Path}, croft.ChecksUntrusted},
		"from nowhere": {croft.ApproveRequest{Hash: plan.Hash, From: filepath.Join(g.Dir, "gone")}, croft.InvalidRequest},
		"no hash":      {croft.ApproveRequest{}, croft.InvalidRequest},
		"another mode": {croft.ApproveRequest{Hash: plan.Hash, Mode: "other"}, croft.InvalidRequest},
	} {
		if _, err := e.Approve(t.Context(), test.req); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
	if plan, err := e.Checks(t.Context(), croft.ChecksRequest{}); err != nil || plan.IsApproved {
		t.Errorf("%+v, %v", plan, err)
	}
}

// TestApprovalIsAFile: a link or a directory in the place of an approval is none.
func TestApprovalIsAFile(t *testing.T) {
	t.Parallel()
	_, e := withChecks(t)
	plan, err := e.Checks(t.Context(), croft.ChecksRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if plan, err = e.Approve(t.Context(), croft.ApproveRequest{Hash: plan.Hash}); err != nil || !plan.IsApproved {
		t.Fatalf("%+v, %v", plan, err)
	}
	found, err := filepath.Glob(filepath.Join(e.projects.Settings.Config().StateDir, "*", "*", "trust", plan.Hash))
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v", found, err)
	}
	file := found[0]
	for name, replace := range map[string]func() error{
		"link":      func() error { return os.Symlink(file+".was", file) },
		"directory": func() error { return os.Mkdir(file, 0o700) },
	} {
		if err := errors.Join(os.Rename(file, file+".was"), replace()); err != nil {
			t.Skip(err)
		}
		if plan, err := e.Checks(t.Context(), croft.ChecksRequest{}); err == nil && plan.IsApproved {
			t.Errorf("a %s approves", name)
		}
		if err := errors.Join(os.Remove(file), os.Rename(file+".was", file)); err != nil {
			t.Fatal(err)
		}
	}
}
