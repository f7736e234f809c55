package croft_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/mutant"
)

// TestMutantsAreWhole holds the files mutants.txt to the code and the tests that
// they name. .ci/mutants tries them.
func TestMutantsAreWhole(t *testing.T) {
	all, err := mutant.All(".")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 66 {
		t.Errorf("%d mutants; are they still found?", len(all))
	}
	packages, names := map[string]packageNames{}, map[string]bool{}
	for _, m := range all {
		if names[m.Name] {
			t.Errorf("%s: another mutant is called %q, too", m.At, m.Name)
		}
		names[m.Name] = true
		text, err := os.ReadFile(filepath.FromSlash(m.File))
		if err == nil {
			_, err = m.Apply(strings.ReplaceAll(string(text), "\r\n", "\n"))
		}
		if err != nil {
			t.Errorf("%s: %v", m.At, err)
		}
		if script, ok := strings.CutPrefix(m.Test, "TestScripts/"); ok {
			if _, err := os.Stat(filepath.Join("testdata", "script", script+".txt")); err != nil {
				t.Errorf("%s: %v", m.At, err)
			}
			continue
		}
		if _, ok := packages[m.Package]; !ok {
			packages[m.Package] = readNames(t, m.Package)
		}
		if missing := packages[m.Package].missing(m.Test); missing != "" {
			t.Errorf("%s: %s has no %s", m.At, m.Package, missing)
		}
	}
}
