package servicetest

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/servicetest/harness"
)

// TestNothingIsSkippedLocally: the harness of this machine has what every scenario needs, so
// that the engine skips none. That it has no other reason to skip one is seen when it runs.
func TestNothingIsSkippedLocally(t *testing.T) {
	needed := map[harness.Capability]bool{}
	for _, g := range groups() {
		for _, s := range g.scenarios {
			if c := harness.Missing(harness.Local(nil), s.needs); c != "" {
				t.Errorf("%s/%s is skipped: Local has no %q", g.name, s.name, c)
			}
			for _, c := range s.needs {
				needed[c] = true
			}
		}
	}
	for _, c := range harness.AllCapabilities() {
		if !needed[c] {
			t.Errorf("no scenario needs %q", c)
		}
	}
}

// TestScenariosAreThere: scenarios have one name each, and the lists that leave some out
// name scenarios that exist.
func TestScenariosAreThere(t *testing.T) {
	names := map[string]bool{}
	for _, g := range groups() {
		names[g.name] = true
		for _, s := range g.scenarios {
			full := g.name + "/" + s.name
			if names[full] {
				t.Errorf("%s is there twice", full)
			}
			names[full] = true
		}
	}
	for _, name := range slices.Concat(modeAll, notOfWorktrees) {
		if !names[name] {
			t.Errorf("no scenario or group %s", name)
		}
	}
}

// TestSuiteOpensNoPath: a scenario reaches files and processes through its harness, but for
// those that need a shared disk, which are in local.go.
func TestSuiteOpensNoPath(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 40 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, name := range files {
		if name == "local.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range file.Imports {
			switch path, _ := strconv.Unquote(imp.Path.Value); path {
			case "os", "os/exec", "syscall", "golang.org/x/sys/unix", "github.com/croft-sh/croft/internal/git/gittest":
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}

// TestUnimplementedFails: no scenario passes, and none is skipped, on a Service that carries
// out nothing.
func TestUnimplementedFails(t *testing.T) {
	if os.Getenv("CROFT_UNIMPLEMENTED") == "1" {
		Run(t, harness.Local(func(*testing.T, string, []string) croft.Service { return croft.UnimplementedService{} }))
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestUnimplementedFails$", "-test.v")
	cmd.Env = append(os.Environ(), "CROFT_UNIMPLEMENTED=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Error("the suite passes")
	}
	for _, g := range groups() {
		for _, s := range g.scenarios {
			name := t.Name() + "/" + g.name + "/" + strings.ReplaceAll(s.name, " ", "_")
			if !strings.Contains(string(out), "--- FAIL: "+name+" (") {
				t.Errorf("%s does not fail", name)
			}
		}
	}
}
