package layout

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// reach says for how much a variable has the same value.
type reach int

const (
	reachUnknown   reach = iota // there is no such variable
	reachRepo                   // the same for all workspaces
	reachSome                   // shared by several workspaces
	reachWorkspace              // tells one workspace from the next
)

func reachOf(variable string) reach {
	switch variable {
	case "repo", "home", "prefix":
		return reachRepo
	case "session", "round", "unix":
		return reachSome
	case "name", "slug", "role", "id", "shortid", "branch", "hex8":
		return reachWorkspace
	}
	return reachUnknown
}

// variableList names the variables in the order of the documentation.
func variableList() string {
	return "{repo} {home} {prefix} {name} {slug} {role} {session} {round} {id} {shortid} {branch} {hex8} {unix}"
}

// part is literal text or the name of a variable, never both.
type part struct {
	text     string
	variable string
}

// template is one component of a path, or a whole branch name.
type template []part

func (t template) uses(variable string) bool {
	return slices.ContainsFunc(t, func(p part) bool { return p.variable == variable })
}

// hasReach reports whether some variable of the template has at least that reach.
func (t template) hasReach(r reach) bool {
	return slices.ContainsFunc(t, func(p part) bool { return p.variable != "" && reachOf(p.variable) >= r })
}

// fill puts the template together from what value says for each variable.
func (t template) fill(value func(variable string) (string, error)) (string, error) {
	var b strings.Builder
	for _, p := range t {
		if p.variable == "" {
			b.WriteString(p.text)
			continue
		}
		s, err := value(p.variable)
		if err != nil {
			return "", err
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

// parse splits text at its variables. The second result says what is wrong.
func parse(text string) (t template, problem string) {
	for text != "" {
		i := strings.IndexAny(text, "{}")
		if i < 0 {
			return append(t, part{text: text}), ""
		}
		if text[i] == '}' {
			return nil, "has a } without a {"
		}
		if i > 0 {
			t = append(t, part{text: text[:i]})
		}
		text = text[i+1:]
		end := strings.IndexAny(text, "{}")
		if end < 0 || text[end] == '{' {
			return nil, "has a { without a }"
		}
		variable := text[:end]
		if reachOf(variable) == reachUnknown {
			return nil, "has the unknown variable " + quote("{"+variable+"}")
		}
		t = append(t, part{variable: variable})
		text = text[end+1:]
	}
	return t, ""
}

func parseBranch(text string) (template, error) {
	t, problem := parse(text)
	switch {
	case text == "":
		problem = "is empty"
	case !utf8.ValidString(text):
		problem = "is not valid UTF-8"
	case problem != "":
	case t.uses("branch"):
		problem = "uses {branch}, which only a path can"
	case t.uses("home"):
		problem = "uses {home}, which only a path can"
	case !t.hasReach(reachWorkspace):
		problem = "gives every workspace the same branch"
	}
	if problem != "" {
		return nil, templateError("branch", text, problem)
	}
	return t, nil
}

// anchor says what a path template starts from.
type anchor int

const (
	anchorRepo anchor = iota // the main checkout
	anchorHome               // {home}
	anchorRoot               // the root of a file system
)

// pathTemplate is a path template, taken apart.
type pathTemplate struct {
	anchor anchor
	root   string     // of anchorRoot: "/", or "C:\" on Windows
	up     int        // leading ".." components, of anchorRepo only
	dirs   []template // the components after that
}

func (t pathTemplate) uses(variable string) bool {
	if variable == "home" && t.anchor == anchorHome {
		return true
	}
	return slices.ContainsFunc(t.dirs, func(d template) bool { return d.uses(variable) })
}

// shared is the number of components that are the same for all workspaces. The
// last one never is: an agent has one workspace in each repository.
func (t pathTemplate) shared() int {
	i := slices.IndexFunc(t.dirs, func(d template) bool { return d.hasReach(reachSome) })
	if i < 0 {
		return max(len(t.dirs)-1, 0)
	}
	return i
}

func parsePath(text string) (pathTemplate, error) {
	t, problem := splitPath(text)
	if problem == "" {
		problem = t.problem()
	}
	if problem != "" {
		return pathTemplate{}, templateError("path", text, problem)
	}
	return t, nil
}

// splitPath finds the anchor and the components.
func splitPath(text string) (t pathTemplate, problem string) {
	if text == "" {
		return t, "is empty"
	}
	if !utf8.ValidString(text) {
		return t, "is not valid UTF-8"
	}
	rest := filepath.ToSlash(text)
	volume := filepath.VolumeName(filepath.FromSlash(rest))
	switch {
	case strings.HasPrefix(rest, "{home}/"):
		t.anchor = anchorHome
		rest = strings.TrimPrefix(rest, "{home}/")
	case filepath.IsAbs(filepath.FromSlash(rest)):
		t.anchor, t.root = anchorRoot, filepath.FromSlash(volume+"/")
		rest = strings.TrimPrefix(rest[len(volume):], "/")
	case volume != "" || strings.HasPrefix(rest, "/"):
		return t, "is neither relative nor absolute: it lacks the drive or the root"
	case strings.HasPrefix(rest, "~"):
		return t, `starts with "~", which is not expanded: write the directory out`
	default:
		rest = strings.TrimPrefix(rest, "./")
		for strings.HasPrefix(rest, "../") {
			rest = strings.TrimPrefix(rest, "../")
			t.up++
		}
	}
	for component := range strings.SplitSeq(rest, "/") {
		dir, problem := parse(component)
		if problem != "" {
			return t, problem
		}
		t.dirs = append(t.dirs, dir)
	}
	return t, ""
}

// problem says what is wrong with a template that could be taken apart.
func (t pathTemplate) problem() string {
	unique := t.anchor == anchorHome && len(t.dirs) > 1 // a home is one agent's
	for _, dir := range t.dirs {
		if dir.uses("home") {
			return "uses {home} elsewhere than as its first directory"
		}
		// A harmless letter in place of each variable shows what the
		// template's own text does to a component.
		sample, _ := dir.fill(func(string) (string, error) { return "x", nil })
		if p := componentProblem(sample, dotAllowed); p != "" {
			return "has the component " + quote(sample) + ", which " + p
		}
		unique = unique || dir.hasReach(reachWorkspace)
	}
	if !unique {
		return "gives every workspace the same directory"
	}
	if t.anchor == anchorRepo && t.up == 0 && t.shared() == 0 {
		return "puts workspaces among the project's own files: it needs a directory of its own"
	}
	return ""
}
