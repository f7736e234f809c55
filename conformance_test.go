package croft_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// proofs are what a row of docs/conformance.md may name: a script, or a test
// of a package with the names of its subtests.
var (
	scriptProof = regexp.MustCompile("`script/([^`]+)`")
	testProof   = regexp.MustCompile("`([a-z][a-z0-9/]*|\\.)\\.((?:Test|Fuzz|Example)[^`]*)`")
)

// TestConformance holds docs/conformance.md to the tests that it names: each
// row names at least one that exists, or says which later part owns it.
func TestConformance(t *testing.T) {
	text, err := os.ReadFile("docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]packageNames{}
	rows := 0
	for n, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if !strings.HasPrefix(line, "|") || len(cells) < 2 || strings.Trim(line, "|-: ") == "" || cells[len(cells)-1] == "proof" {
			continue
		}
		rows++
		proof := cells[len(cells)-1]
		scripts, tests := scriptProof.FindAllStringSubmatch(proof, -1), testProof.FindAllStringSubmatch(proof, -1)
		if len(scripts)+len(tests) == 0 && !strings.HasPrefix(proof, "open:") {
			t.Errorf("docs/conformance.md:%d: no proof in %q", n+1, proof)
		}
		for _, m := range scripts {
			if _, err := os.Stat(filepath.Join("testdata", "script", m[1]+".txt")); err != nil {
				t.Errorf("docs/conformance.md:%d: no script %s", n+1, m[1])
			}
		}
		for _, m := range tests {
			if _, ok := packages[m[1]]; !ok {
				packages[m[1]] = readNames(t, m[1])
			}
			if missing := packages[m[1]].missing(m[2]); missing != "" {
				t.Errorf("docs/conformance.md:%d: %s has no %s", n+1, m[1], missing)
			}
		}
	}
	if rows < 100 {
		t.Errorf("docs/conformance.md has %d rows; are the tables still read?", rows)
	}
}

// packageNames are the names of a package's tests and the strings in it that
// may be names of subtests.
type packageNames struct{ funcs, strings map[string]bool }

// missing returns the first part of a test's name that the package lacks.
func (p packageNames) missing(test string) string {
	name, subtests, _ := strings.Cut(test, "/")
	if !p.funcs[name] {
		return name
	}
	for sub := range strings.SplitSeq(subtests, "/") {
		if sub != "" && !p.strings[sub] {
			return test
		}
	}
	return ""
}

// readNames reads a package's files. The suites that it may run are part of
// it: their subtests have no function in the package itself.
func readNames(t *testing.T, dir string) packageNames {
	t.Helper()
	p := packageNames{map[string]bool{}, map[string]bool{}}
	for _, d := range []string{dir, "servicetest", "internal/checkout/checkouttest"} {
		files, err := filepath.Glob(filepath.Join(filepath.FromSlash(d), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					p.funcs[n.Name.Name] = p.funcs[n.Name.Name] || d == dir
				case *ast.BasicLit:
					if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
						p.strings[strings.ReplaceAll(s, " ", "_")] = true
					}
				}
				return true
			})
		}
	}
	return p
}
