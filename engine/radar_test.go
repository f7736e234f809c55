package engine_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// The recorded results of a forecast are a cache: if they are damaged or were made with
// another git, they are computed again, and a listing shows none.
func TestForecastIsACache(t *testing.T) {
	r := gittest.New(t)
	e := open(t, r.Dir, &engine.Options{Environ: r.Env})
	for _, name := range []string{"a", "b"} {
		gittest.WriteFile(t, filepath.Join(create(t, e, croft.CreateRequest{Name: name}).Path, "README.md"), name)
	}
	forecast := func() *croft.Forecast {
		t.Helper()
		f, err := e.Conflicts(t.Context(), croft.ConflictsRequest{})
		if err != nil || len(f.Pairs) != 1 {
			t.Fatalf("%+v, %v", f, err)
		}
		return f
	}
	forecast()
	files, err := filepath.Glob(filepath.Join(r.Home, "state", "forecasts", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("remembered in %v, %v", files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if f := forecast(); f.Effort.Remembered != f.Effort.Pairs {
		t.Errorf("as it was: %+v", f.Effort)
	}
	version, err := r.TryGit(r.Dir, "version")
	if err != nil {
		t.Fatal(err)
	}
	number := strings.Fields(version)[2]
	if !strings.Contains(string(whole), number) {
		t.Fatalf("%s is not in what is remembered", number)
	}
	if sealed(string(whole)) != string(whole) {
		t.Fatalf("not sealed as it was: %.200q", whole)
	}
	for what, text := range map[string]string{
		"empty":                 "",
		"cut off":               string(whole[:len(whole)/2]),
		"of another version":    sealed(strings.Replace(string(whole), `"version":4`, `"version":9`, 1)),
		"of the version before": sealed(strings.Replace(string(whole), `"version":4`, `"version":3`, 1)),
		"of another git":        sealed(strings.Replace(string(whole), `"under":"`, `"under":"0`, 1)),
		"with another commit":   strings.Replace(string(whole), `"a":"`, `"a":"0`, 1),
	} {
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{}); err != nil {
			t.Errorf("%s: the listing fails: %v", what, err)
		}
		if f := forecast(); f.Effort.Remembered != 0 {
			t.Errorf("%s: %+v", what, f.Effort)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(r.Home, "state", "forecasts", "*")); len(left) != 1 {
		t.Errorf("left beside it: %v", left)
	}
}

// sealed gives each line of what is remembered its digest, as if it had been written so.
func sealed(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		_, line, _ = strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		fmt.Fprintf(&out, "%x %s\n", sha256.Sum256([]byte(line)), line)
	}
	return out.String()
}
