package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
)

// suggestedStep is a command that would set new workspaces up.
type suggestedStep struct {
	File string `json:"file"` // the file of the project that it goes by, and its key
	Name string `json:"name"`
	Run  string `json:"run"`
}

// installers are the commands that install what a file names, the file that says most first.
func installers() []suggestedStep {
	return []suggestedStep{
		{"package-lock.json", "deps", "npm ci"},
		{"pnpm-lock.yaml", "deps", "pnpm install --frozen-lockfile"},
		{"yarn.lock", "deps", "yarn install --frozen-lockfile"},
		{"bun.lock", "deps", "bun install --frozen-lockfile"},
		{"uv.lock", "venv", "uv sync --frozen"},
		{"poetry.lock", "venv", "poetry install"},
		{"requirements.txt", "venv", "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"},
		{"go.sum", "modules", "go mod download"},
		{"Cargo.lock", "crates", "cargo fetch --locked"},
		{"Gemfile.lock", "gems", "bundle install"},
		{"composer.lock", "vendor", "composer install"},
	}
}

// suggestSteps returns a step for each kind of dependencies of the project at root.
func suggestSteps(root string) []suggestedStep {
	var steps []suggestedStep
	for _, s := range installers() {
		isSecond := slices.ContainsFunc(steps, func(other suggestedStep) bool { return other.Name == s.Name })
		if info, err := os.Lstat(filepath.Join(root, s.File)); err == nil && info.Mode().IsRegular() && !isSecond {
			steps = append(steps, s)
		}
	}
	return steps
}

// stepComments are steps as comments at the end of a croft.toml; without any, one as an example.
func stepComments(steps []suggestedStep) string {
	var b strings.Builder
	b.WriteString("\n# Commands that set a new workspace up, once \"croft config trust --setup\" has approved them.\n" +
		"# They run again when a key file has changed. Other tables: [[provision.path]] brings in\n# directories, [env] sets variables, [teardown] runs before a removal.\n")
	if len(steps) == 0 {
		steps = []suggestedStep{{File: "package-lock.json", Name: "deps", Run: "npm ci"}}
	}
	for _, s := range steps {
		fmt.Fprintf(&b, "#\n# [[provision.step]]\n# name = %q\n# run = %q\n# key = [%q]\n", s.Name, s.Run, s.File)
	}
	return b.String()
}

// localFiles are the files at root that a workspace would lack: .gitignore names them, and no .worktreeinclude is there.
func localFiles(root string) []string {
	if _, err := os.Lstat(filepath.Join(root, ".worktreeinclude")); err == nil {
		return nil
	}
	ignored, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	if err != nil {
		return nil
	}
	var found []string
	for _, name := range []string{".env", ".env.local", ".envrc.local"} {
		isIgnored := false
		for line := range strings.Lines(string(ignored)) {
			matches, err := filepath.Match(strings.TrimPrefix(strings.TrimSpace(line), "/"), name)
			isIgnored = isIgnored || matches && err == nil
		}
		if info, err := os.Lstat(filepath.Join(root, name)); err == nil && info.Mode().IsRegular() && isIgnored {
			found = append(found, name)
		}
	}
	return found
}

// noteInitSetUp says what sets new workspaces up, and what nothing does yet.
func (a *app) noteInitSetUp(r initResult) {
	if len(r.SetUp) > 0 {
		a.note("new workspaces are set up by:")
		var rows [][]cell
		for _, item := range r.SetUp {
			rows = append(rows, plainRow(printable(item.Source), printable(item.What), printable(item.Does)))
		}
		a.noteRows(rows)
	}
	if slices.ContainsFunc(r.SetUp, func(item croft.ProvisionItem) bool { return strings.HasPrefix(item.Does, "waits for an approval") }) {
		a.remarkNext("croft config trust --setup")
	}
	for _, remark := range r.Remarks {
		a.note("%s", printable(remark))
	}
	for _, s := range r.Suggested {
		a.note("%s is here and nothing installs what it names in a new workspace: a step with %q would; croft.toml shows how", s.File, s.Run)
	}
	for _, name := range r.Local {
		a.note("%s will not be in new workspaces: a line %s in .worktreeinclude brings it in", name, name)
	}
}

// findSetUp adds to a result what sets new workspaces up, and what nothing does yet.
func (r *initResult) findSetUp(ctx context.Context, svc planner, root string) {
	r.Local = localFiles(root)
	isStep := func(item croft.ProvisionItem) bool { return strings.HasPrefix(item.What, "step ") }
	if plan, err := svc.PlanProvision(ctx, croft.PlanProvisionRequest{Repo: croft.ByPath(root)}); err == nil { // a repository without commits has none
		r.SetUp, r.Remarks = plan.Items, plan.Remarks
	} else if errors.Is(err, croft.ConfigInvalid) {
		r.Remarks = []string{croft.AsError("init", err).Message}
		return
	}
	if !slices.ContainsFunc(r.SetUp, isStep) {
		r.Suggested = suggestSteps(root)
	}
}
