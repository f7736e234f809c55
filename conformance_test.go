package croft_test

import (
	"fmt"
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
	rows := 0
	for _, r := range rowsOf(t, "docs/conformance.md") {
		rows++
		if r.check(t) == 0 && !strings.HasPrefix(r.proof, "open:") {
			t.Errorf("%s: no proof in %q", r.at, r.proof)
		}
	}
	if rows < 100 {
		t.Errorf("docs/conformance.md has %d rows; are the tables still read?", rows)
	}
}

// TestSecurityRows holds docs/security.md to the tests that it names: what is
// said to be stopped has one, and what is not stopped says so.
func TestSecurityRows(t *testing.T) {
	rows := 0
	for _, r := range rowsOf(t, "docs/security.md") {
		if strings.HasPrefix(r.line, "| **[") || strings.HasPrefix(r.line, "| | it can write") {
			continue // who attacks
		}
		rows++
		if r.check(t) == 0 && !strings.Contains(r.line, "**not prevented**") {
			t.Errorf("%s: no proof in %q", r.at, r.proof)
		}
	}
	if rows < 25 {
		t.Errorf("docs/security.md has %d rows; are the tables still read?", rows)
	}
}

// provenRow is a row of a table whose last cell names tests.
type provenRow struct {
	at, line, proof string
	packages        map[string]packageNames // that were read for other rows
}

func rowsOf(t *testing.T, file string) []provenRow {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows []provenRow
	packages := map[string]packageNames{}
	for n, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if !strings.HasPrefix(line, "|") || len(cells) < 2 || strings.Trim(line, "|-: ") == "" || cells[len(cells)-1] == "proof" {
			continue
		}
		rows = append(rows, provenRow{fmt.Sprintf("%s:%d", file, n+1), line, cells[len(cells)-1], packages})
	}
	return rows
}

// check fails for every named test that there is not, and returns how many are
// named.
func (r provenRow) check(t *testing.T) int {
	t.Helper()
	scripts, tests := scriptProof.FindAllStringSubmatch(r.proof, -1), testProof.FindAllStringSubmatch(r.proof, -1)
	for _, m := range scripts {
		if _, err := os.Stat(filepath.Join("testdata", "script", m[1]+".txt")); err != nil {
			t.Errorf("%s: no script %s", r.at, m[1])
		}
	}
	for _, m := range tests {
		if _, ok := r.packages[m[1]]; !ok {
			r.packages[m[1]] = readNames(t, m[1])
		}
		if missing := r.packages[m[1]].missing(m[2]); missing != "" {
			t.Errorf("%s: %s has no %s", r.at, m[1], missing)
		}
	}
	return len(scripts) + len(tests)
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
					if n.Recv != nil && n.Name.IsExported() {
						p.strings[n.Name.Name] = true // a scenario of servicetest
					}
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
