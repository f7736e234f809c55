package jsonschema

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Word is a constant of a named string type.
type Word struct {
	Name, Value, Comment string
}

// Comments are the comments of packages, by the name of the package and of the type:
// "croft.Workspace", and of a field "croft.Workspace.Name".
type Comments struct {
	Types  map[string]string
	Fields map[string]string
	Words  map[string][]Word // of string types, in the order of the source
	// Methods are those of interfaces, by the name of the package and of the method.
	Methods map[string]string
	consts  map[string]string // the values of all constants, by their names
}

// ReadComments reads the Go files of directories, without their tests. Untyped constants
// of the package croft whose names begin with a key of untyped are words of the type that is its value.
func ReadComments(untyped map[string]string, dirs ...string) (*Comments, error) {
	c := &Comments{Types: map[string]string{}, Fields: map[string]string{}, Words: map[string][]Word{}, Methods: map[string]string{}, consts: map[string]string{}}
	fset := token.NewFileSet()
	for _, dir := range dirs {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			c.readFile(fset, file, untyped)
		}
	}
	return c, nil
}

func (c *Comments) readFile(fset *token.FileSet, file *ast.File, untyped map[string]string) {
	pkg := file.Name.Name + "."
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				doc := spec.Doc
				if doc == nil {
					doc = gen.Doc
				}
				c.Types[pkg+spec.Name.Name] = joined(doc)
				switch at := spec.Type.(type) {
				case *ast.StructType:
					c.readFields(fset, pkg+spec.Name.Name, at)
				case *ast.InterfaceType:
					for _, method := range at.Methods.List {
						for _, name := range method.Names {
							c.Methods[pkg+name.Name] = strings.TrimSpace(method.Doc.Text())
						}
					}
				}
			case *ast.ValueSpec:
				if gen.Tok == token.CONST {
					c.readWord(pkg, spec, untyped)
				}
			}
		}
	}
}

// readFields reads the comments of fields. A field without one takes the sentences that
// name it from that of a field above it, if no blank line is between them.
func (c *Comments) readFields(fset *token.FileSet, in string, at *ast.StructType) {
	shared, lastLine := "", 0
	for _, field := range at.Fields.List {
		begin := field.Pos()
		if field.Doc != nil {
			begin = field.Doc.Pos()
		}
		if fset.Position(begin).Line > lastLine+1 {
			shared = ""
		}
		lastLine = fset.Position(field.End()).Line
		if field.Doc != nil {
			shared = joined(field.Doc)
		}
		for _, name := range field.Names {
			own := strings.TrimSpace(joined(field.Doc) + " " + joined(field.Comment))
			if own == "" {
				own = sentencesAbout(shared, name.Name)
			}
			c.Fields[in+"."+name.Name] = withoutName(own, name.Name)
		}
	}
}

// sentencesAbout returns the sentences of a comment that name something.
func sentencesAbout(comment, name string) string {
	named := regexp.MustCompile(`\b` + name + `\b`)
	var kept []string
	for sentence := range strings.SplitSeq(strings.TrimSuffix(comment, "."), ". ") {
		if named.MatchString(sentence) {
			kept = append(kept, sentence)
		}
	}
	return strings.Join(kept, ". ")
}

func (c *Comments) readWord(pkg string, spec *ast.ValueSpec, untyped map[string]string) {
	if len(spec.Names) != 1 || len(spec.Values) != 1 {
		return
	}
	lit, ok := spec.Values[0].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return
	}
	value, err := strconv.Unquote(lit.Value)
	if err != nil {
		return
	}
	name, at := spec.Names[0].Name, ""
	if typ, ok := spec.Type.(*ast.Ident); ok {
		at = typ.Name
	}
	for prefix, of := range untyped {
		if at == "" && pkg == "croft." && strings.HasPrefix(name, prefix) {
			at = of
		}
	}
	c.consts[name] = value
	if at == "" {
		return
	}
	comment := strings.TrimSpace(joined(spec.Doc) + " " + joined(spec.Comment))
	c.Words[pkg+at] = append(c.Words[pkg+at], Word{name, value, withoutName(comment, name)})
}

// withoutName makes a comment that begins with the name of what it describes stand alone.
func withoutName(comment, name string) string {
	for _, lead := range []string{": ", " is ", " are ", " has ", " says "} {
		if rest, ok := strings.CutPrefix(comment, name+lead); ok {
			return rest
		}
	}
	return comment
}

// joined returns a comment on one line.
func joined(g *ast.CommentGroup) string {
	if g == nil {
		return ""
	}
	return strings.Join(strings.Fields(g.Text()), " ")
}

var (
	docLink   = regexp.MustCompile(`\[\*?([A-Z]\w*(?:\.[A-Z]\w*)?)\]`)
	goName    = regexp.MustCompile(`\b[A-Z]\w*\b`)
	humpsOnly = regexp.MustCompile(`^[A-Z][a-z]+[A-Z]\w*$`)
)

// InJSON rewrites a comment for readers of JSON: constants by their values.
func (c *Comments) InJSON(comment string) string { return c.inJSON(comment, nil) }

// inJSON rewrites a comment for readers of JSON: fields of the same struct by their names
// there, and constants by their values.
func (c *Comments) inJSON(comment string, fields map[string]string) string {
	comment = docLink.ReplaceAllString(comment, "$1")
	return goName.ReplaceAllStringFunc(comment, func(name string) string {
		if field, ok := fields[name]; ok {
			return field
		}
		if value, ok := c.consts[name]; ok && value != "" && humpsOnly.MatchString(name) {
			return value
		}
		return name
	})
}
