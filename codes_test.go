package croft_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
)

func TestEveryCodeHasARow(t *testing.T) {
	declared := declaredCodes(t)
	listed := croft.Codes()
	for name, code := range declared {
		if !slices.Contains(listed, code) {
			t.Errorf("%s (%s) has no row in the table of codes", name, code)
		}
	}
	if len(listed) != len(declared) {
		t.Errorf("the table has %d rows for %d codes", len(listed), len(declared))
	}
	for i, code := range listed {
		if slices.Contains(listed[:i], code) {
			t.Errorf("%s has two rows", code)
		}
	}
}

func TestCodeNames(t *testing.T) {
	for name, code := range declaredCodes(t) {
		var camel strings.Builder
		for word := range strings.SplitSeq(string(code), "_") {
			camel.WriteString(word[:1] + strings.ToLower(word[1:]))
		}
		if name != camel.String() {
			t.Errorf("%s is declared as %s, want %s", code, name, camel.String())
		}
	}
}

func TestUnknownCodesAreFailures(t *testing.T) {
	unknown := croft.Code("FROM_A_LATER_VERSION")
	if got := unknown.HTTPStatus(); got != 500 {
		t.Errorf("status %d, want 500", got)
	}
	if got := unknown.ExitCode(); got != croft.ExitFailure {
		t.Errorf("exit code %d, want %d", got, croft.ExitFailure)
	}
}

// tableRow is a row of the table at the head of docs/errors.md.
var tableRow = regexp.MustCompile("(?m)^\\| \\[`([A-Z_]+)`\\]\\(#([a-z_]+)\\) \\| (\\d+) \\| (\\d+) \\|")

func TestErrorTableIsDocumented(t *testing.T) {
	type row struct {
		Code   croft.Code
		Anchor string
		Status int
		Exit   int
	}
	var want, got []row
	for _, code := range croft.Codes() {
		want = append(want, row{code, strings.ToLower(string(code)), code.HTTPStatus(), code.ExitCode()})
	}
	for _, m := range tableRow.FindAllStringSubmatch(errorsDoc(t), -1) {
		got = append(got, row{croft.Code(m[1]), m[2], number(t, m[3]), number(t, m[4])})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table of docs/errors.md (-code +docs):\n%s", diff)
	}
	for _, r := range want {
		if !strings.Contains(errorsDoc(t), fmt.Sprintf("\n| %d | ", r.Exit)) {
			t.Errorf("%s: docs/errors.md does not say what exit code %d means", r.Code, r.Exit)
		}
	}
}

func TestErrorSectionsAreDocumented(t *testing.T) {
	headings := []string{"**What happened.** ", "**What state is left.** ", "**What to run.** "}
	var sections []croft.Code
	for _, section := range strings.Split(errorsDoc(t), "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		sections = append(sections, croft.Code(title))
		paragraphs := strings.Split(strings.TrimSpace(body), "\n\n")
		if len(paragraphs) < len(headings) {
			t.Errorf("%s: %d paragraphs, want %d", title, len(paragraphs), len(headings))
			continue
		}
		for i, heading := range headings {
			text, ok := strings.CutPrefix(paragraphs[i], heading)
			if !ok || len(strings.Fields(text)) < 3 {
				t.Errorf("%s: paragraph %d does not say %q", title, i+1, heading)
			}
		}
	}
	if diff := cmp.Diff(croft.Codes(), sections); diff != "" {
		t.Errorf("the sections of docs/errors.md (-code +docs):\n%s", diff)
	}
}

func TestErrorIsItsCodeAndItsCause(t *testing.T) {
	for _, code := range croft.Codes() {
		err := fmt.Errorf("outside: %w", &croft.Error{
			Code: code, Op: "create", Workspace: "a", Message: "no", Err: fs.ErrNotExist,
		})
		if !errors.Is(err, code) {
			t.Errorf("%s: the code is not found", code)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the cause is not found", code)
		}
		for _, other := range croft.Codes() {
			if other != code && errors.Is(err, other) {
				t.Errorf("%s is also %s", code, other)
			}
		}
	}
}

func TestErrorKeepsItsCodeOverTheWire(t *testing.T) {
	for _, code := range croft.Codes() {
		sent := &croft.Error{
			Code: code, Op: "create", Workspace: "a", Message: "no", Details: "some",
			Hint: "croft list", Err: fs.ErrNotExist,
		}
		data, err := json.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		var received *croft.Error
		if err := json.Unmarshal(data, &received); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(received, code) {
			t.Errorf("%s: not found after the round trip", code)
		}
		if errors.Is(received, fs.ErrNotExist) {
			t.Errorf("%s: the cause left the process", code)
		}
		want := *sent
		want.Err = nil
		if diff := cmp.Diff(&want, received); diff != "" {
			t.Errorf("%s (-sent +received):\n%s", code, diff)
		}
	}
}

func TestErrorInJSON(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  croft.Error
		want string
	}{
		{
			"all",
			croft.Error{Code: croft.Internal, Op: "o", Workspace: "w", Message: "m", Details: "d", Hint: "h"},
			`{"code":"INTERNAL","op":"o","workspace":"w","message":"m","details":"d","hint":"h"}`,
		},
		{
			"what does not apply is absent",
			croft.Error{Code: croft.NotARepo, Op: "o", Message: "m"},
			`{"code":"NOT_A_REPO","op":"o","message":"m"}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := json.Marshal(&tc.err)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestErrorText(t *testing.T) {
	for _, tc := range []struct {
		err  croft.Error
		want string
	}{
		{croft.Error{Message: "no"}, "no"},
		{croft.Error{Op: "create", Message: "no"}, "create: no"},
		{croft.Error{Op: "create", Workspace: "a", Message: "no"}, "create a: no"},
		{croft.Error{Op: "create", Workspace: "a", Message: "no", Err: fs.ErrExist}, "create a: no: file already exists"},
	} {
		if got := tc.err.Error(); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

func TestAsError(t *testing.T) {
	known := &croft.Error{Code: croft.WorktreeExists, Op: "create", Message: "no"}
	for _, tc := range []struct {
		name string
		err  error
		want croft.Code
	}{
		{"canceled", context.Canceled, croft.Canceled},
		{"past its deadline", context.DeadlineExceeded, croft.Canceled},
		{"canceled, wrapped", fmt.Errorf("git: %w", context.Canceled), croft.Canceled},
		{"without a code", fs.ErrNotExist, croft.Internal},
		{"with a code", known, croft.WorktreeExists},
		{"with a code, wrapped", fmt.Errorf("outside: %w", known), croft.WorktreeExists},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := croft.AsError("op", tc.err)
			if got == nil || got.Code != tc.want {
				t.Fatalf("got %v, want code %s", got, tc.want)
			}
			if tc.want == croft.WorktreeExists {
				if got != known {
					t.Errorf("got another error: %v", got)
				}
				return
			}
			if got.Op != "op" || !errors.Is(got, tc.err) {
				t.Errorf("operation or cause are lost: %+v", got)
			}
		})
	}
	if got := croft.AsError("op", nil); got != nil {
		t.Errorf("no error became %v", got)
	}
}

// declaredCodes reads the constants of type Code from the source of the root
// package, so that one that was forgotten elsewhere is noticed.
func declaredCodes(t *testing.T) map[string]croft.Code {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]croft.Code{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "Code" {
				return true
			}
			for i, value := range spec.Values {
				lit, ok := value.(*ast.BasicLit)
				if !ok {
					t.Fatalf("%s: the value of a code is not a plain string", spec.Names[i].Name)
				}
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				codes[spec.Names[i].Name] = croft.Code(text)
			}
			return true
		})
	}
	if len(codes) == 0 {
		t.Fatal("no code found")
	}
	return codes
}

func errorsDoc(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("docs", "errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestRetryable: docs/errors.md names the codes after which the same request may succeed.
func TestRetryable(t *testing.T) {
	_, text, _ := strings.Cut(errorsDoc(t), "The same request may succeed later, as it is, after")
	text, _, _ = strings.Cut(text, "(`Code.Retryable`)")
	var want, got []string
	for _, m := range regexp.MustCompile("`([A-Z_]+)`").FindAllStringSubmatch(text, -1) {
		want = append(want, m[1])
	}
	for _, c := range croft.Codes() {
		if c.Retryable() {
			got = append(got, string(c))
		}
	}
	if !slices.Equal(got, want) || len(got) == 0 {
		t.Errorf("retryable: %v, docs/errors.md has %v", got, want)
	}
}
