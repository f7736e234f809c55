package croft_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestCommandsAreQuoted: whoever reads a command that Croft prints pastes it. Agents choose the names of
// workspaces, branches, refs and files, and git allows quotes, semicolons and dollar signs in them. So what
// follows on `croft ` or `git ` in a text that is put together is a literal, a word that was quoted
// ([shellword.Quote]), an ID, or a number.
func TestCommandsAreQuoted(t *testing.T) {
	all := sources(t)
	facts := newQuoting(all)
	used := map[string]bool{}
	for _, src := range all {
		if covers("internal/git/...", src.pkg) || covers("examples/...", src.pkg) || covers("servicetest/...", src.pkg) { // arguments of calls; tests
			continue
		}
		for _, decl := range src.file.Decls {
			facts.enter(src, decl)
			ast.Inspect(decl, func(n ast.Node) bool {
				expr, ok := n.(ast.Expr)
				if !ok {
					return true
				}
				for _, operand := range facts.rawOperands(expr) {
					key := src.path + ": " + text(operand)
					used[key] = true
					if unquoted[key] == "" {
						t.Errorf("%s: %s is not quoted for a shell in a command that a person may paste: shellword.Quote, or list %q with its reason", src.fset.Position(operand.Pos()), text(operand), key)
					}
				}
				return true
			})
		}
	}
	for key := range unquoted {
		if !used[key] {
			t.Errorf("%s: in unquoted, but quoted or gone", key)
		}
	}
}

// commandIn finds where a command for a person begins in a literal: at its beginning, or after what a
// sentence puts before one.
var commandIn = regexp.MustCompile("(?:^|[:;,(|&`] ?|\\b(?:and|or|then|run|with|that|by|see) )(?:croft|git) (?:$|[-a-z%])")

// quoting knows what is safe in a command.
type quoting struct {
	consts map[string]bool // names of constants, with their package
	src    source
	fn     *ast.FuncDecl // where an expression stands
	seen   map[ast.Expr]bool
}

func newQuoting(all []source) *quoting {
	q := &quoting{consts: map[string]bool{}, seen: map[ast.Expr]bool{}}
	for _, src := range all {
		for _, decl := range src.file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.CONST {
				continue
			}
			for _, spec := range gen.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					q.consts[src.pkg+"."+name.Name] = true
				}
			}
		}
	}
	return q
}

func (q *quoting) enter(src source, decl ast.Decl) {
	q.src = src
	q.fn, _ = decl.(*ast.FuncDecl)
}

// rawOperands are the operands of an expression that stand in a command and are not safe.
func (q *quoting) rawOperands(expr ast.Expr) (raw []ast.Expr) {
	switch e := expr.(type) {
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return nil
		}
		inCommand := false
		for _, operand := range summands(e) {
			switch lit, isLit := literal(operand); {
			case isLit:
				inCommand = inCommand || commandIn.MatchString(lit)
			case inCommand && !q.seen[operand] && !q.isSafe(operand, 0):
				q.seen[operand] = true // the sum of the first ones is visited, too
				raw = append(raw, operand)
			}
		}
		return raw
	case *ast.CallExpr:
		for i, arg := range e.Args {
			format, ok := literal(arg)
			if !ok {
				continue
			}
			at := commandIn.FindStringIndex(format)
			if at == nil {
				continue
			}
			for n, verb := range verbs(format) {
				if verb.at > at[0] && strings.ContainsRune("svq", rune(verb.verb)) && i+1+n < len(e.Args) && !q.isSafe(e.Args[i+1+n], 0) {
					raw = append(raw, e.Args[i+1+n])
				}
			}
		}
	}
	return raw
}

// isSafe reports whether an expression is no text that an agent can choose, or is quoted.
func (q *quoting) isSafe(expr ast.Expr, depth int) bool {
	if depth > 6 {
		return false
	}
	switch e := expr.(type) {
	case *ast.BasicLit:
		return true
	case *ast.ParenExpr:
		return q.isSafe(e.X, depth)
	case *ast.BinaryExpr:
		return q.isSafe(e.X, depth) && q.isSafe(e.Y, depth)
	case *ast.CompositeLit:
		return !slices.ContainsFunc(e.Elts, func(elt ast.Expr) bool { return !q.isSafe(elt, depth+1) })
	case *ast.Ident:
		return e.Name == "nil" || q.consts[q.src.pkg+"."+e.Name] || q.isSafeVariable(e, depth+1)
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			for imp, name := range q.src.imports {
				if own, is := inModule(imp); is && name == x.Name && q.consts[own+"."+e.Sel.Name] {
					return true
				}
			}
		}
		return slices.Contains([]string{"ID", "OID", "Commit", "At", "Number"}, e.Sel.Name) // made by Croft and git
	case *ast.IndexExpr:
		return q.isSafe(e.X, depth)
	case *ast.CallExpr:
		switch text(e.Fun) {
		case "shellword.Quote", "wording.ShellWord", "shellWord", "ShellWord", "len", "strconv.Itoa":
			return true
		case "string", "strings.Join", "append", "fmt.Sprintf", "cmp.Or":
			return !slices.ContainsFunc(e.Args, func(arg ast.Expr) bool { return !q.isSafe(arg, depth+1) })
		}
	}
	return false
}

// isSafeVariable reports whether a function gives a variable of its own nothing but what is safe.
func (q *quoting) isSafeVariable(id *ast.Ident, depth int) bool {
	if q.fn == nil || q.fn.Body == nil {
		return false
	}
	given, safe := false, true
	ast.Inspect(q.fn, func(n ast.Node) bool {
		switch s := n.(type) {
		case *ast.AssignStmt:
			for i, left := range s.Lhs {
				if l, ok := left.(*ast.Ident); ok && l.Name == id.Name {
					given = true
					right := s.Rhs[min(i, len(s.Rhs)-1)]
					if call, isCall := right.(*ast.CallExpr); isCall && text(call.Fun) == "append" && text(call.Args[0]) == id.Name {
						for _, arg := range call.Args[1:] {
							safe = safe && q.isSafe(arg, depth+1)
						}
						continue
					}
					safe = safe && len(s.Lhs) == len(s.Rhs) && q.isSafe(right, depth+1)
				}
			}
		case *ast.ValueSpec:
			for i, name := range s.Names {
				if name.Name == id.Name {
					given = true
					safe = safe && (i >= len(s.Values) || q.isSafe(s.Values[i], depth+1))
				}
			}
		case *ast.Field:
			for _, name := range s.Names {
				if name.Name == id.Name {
					given, safe = true, safe && text(s.Type) == "croft.ID"
				}
			}
		case *ast.RangeStmt:
			for _, v := range []ast.Expr{s.Key, s.Value} {
				if l, ok := v.(*ast.Ident); ok && l.Name == id.Name {
					given = true
					safe = safe && q.isSafe(s.X, depth+1)
				}
			}
		}
		return true
	})
	return given && safe
}

// summands are the operands of a sum, from left to right.
func summands(expr ast.Expr) []ast.Expr {
	if e, ok := expr.(*ast.BinaryExpr); ok && e.Op == token.ADD {
		return append(summands(e.X), summands(e.Y)...)
	}
	return []ast.Expr{expr}
}

func literal(expr ast.Expr) (string, bool) {
	lit, ok := expr.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

type verb struct {
	at   int
	verb byte
}

// verbs are the verbs of a format, in their order.
func verbs(format string) (found []verb) {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		i++
		for i < len(format) && strings.IndexByte("+-# 0123456789.", format[i]) >= 0 {
			i++
		}
		if i < len(format) && format[i] != '%' {
			found = append(found, verb{i, format[i]})
		}
	}
	return found
}

// text is an expression as it is written.
func text(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.BasicLit:
		return e.Value
	case *ast.SelectorExpr:
		return text(e.X) + "." + e.Sel.Name
	case *ast.CallExpr:
		args := make([]string, len(e.Args))
		for i, arg := range e.Args {
			args[i] = text(arg)
		}
		return text(e.Fun) + "(" + strings.Join(args, ", ") + ")"
	case *ast.IndexExpr:
		return text(e.X) + "[" + text(e.Index) + "]"
	case *ast.StarExpr:
		return "*" + text(e.X)
	case *ast.ParenExpr:
		return "(" + text(e.X) + ")"
	case *ast.BinaryExpr:
		return text(e.X) + " " + e.Op.String() + " " + text(e.Y)
	}
	return fmt.Sprintf("%T", expr)
}

// unquoted are the exceptions, with their reasons.
var unquoted = map[string]string{
	"internal/cli/snapshot.go: id":                                            "an ID, or its beginning",
	"internal/cli/gc.go: word":                                                "quoted by restoreWords, or an ID",
	"internal/cli/apply.go: shortMerge(ctx, svc, req.Repo, m.ID)":             "the beginning of an ID",
	"internal/cli/trash.go: word":                                             "quoted by restoreWords, or an ID",
	"internal/config/write.go: shellWords(c.Items)":                           "quoted there; what a person typed in this command",
	"internal/history/undoable.go: string(u.ops[0].Act)":                      "an ID",
	"internal/adoption/adoption.go: c.path":                                   "a sentence about git, which has no worktree there",
	"internal/cli/config.go: near":                                            "the name of a setting that there is",
	"internal/config/write.go: near":                                          "the name of a setting that there is",
	"internal/config/write.go: key.Name":                                      "the name of a setting that there is",
	"internal/workspace/space.go: key":                                        "the name of a setting, from the callers' literals",
	"internal/cli/role.go: role.Snapshot":                                     "an ID",
	"internal/project/branch.go: own":                                         "the commit that a ref names",
	"internal/cli/help/manual.go: cmd.Name()":                                 "the name of a command of Croft's",
	"internal/cli/list.go: wt.LockReason":                                     "a sentence about a worktree of git's: no command",
	"internal/cli/provision.go: name":                                         "quoted by its callers, with a space before it",
	"internal/cli/results/left.go: strings.Join(cancelable, \" \")":           "quoted by its caller",
	"internal/cli/results/left.go: itOrThem(cancelable)":                      "a pronoun",
	"internal/cli/results.go: strings.Join(gone, \" \")":                      "quoted by its callers",
	"internal/cli/root.go: a.env.Version":                                     "the answer of croft version",
	"internal/cli/root.go: runtime.Version()":                                 "the answer of croft version",
	"internal/cli/root.go: runtime.GOOS":                                      "the answer of croft version",
	"internal/cli/root.go: runtime.GOARCH":                                    "the answer of croft version",
	"internal/condition/text.go: verb":                                        "the name of a command of Croft's",
	"internal/explain/explain.go: quotedOr(e.Workspace, \"NAME\")":            "quoted, or what stands for it",
	"internal/explain/explain.go: quotedOr(e.Workspace, \"<the workspace>\")": "quoted, or what stands for it",
	"internal/hook/act/act.go: h.Agent":                                       "a message of the command croft hook: no command to type",
	"internal/hook/act/act.go: err":                                           "a message of the command croft hook: no command to type",
	"internal/layout/layout.go: croft.AsError(\"layout\", err).Message":       "a sentence about what git refuses",
	"internal/project/broken.go: name":                                        "quoted, or an ID",
	"internal/project/notices.go: v":                                          "a version of git",
	"internal/project/notices.go: next":                                       "a version of git",
	"internal/project/trashdir.go: orElse":                                    "a command that the callers made",
	"internal/trash/restore.go: err.Hint":                                     "the command that was made two lines above",
	"internal/work/work.go: what":                                             "rebase, cherry-pick, revert or bisect",
}
