package layout

import (
	"cmp"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
)

// Values are what the variables of a template stand for.
type Values struct {
	RepoPath string // absolute path of the main checkout, or of the bare repository
	Repo     string // the repository's name
	Home     string // absolute path of the agent's home
	Name     string
	Slug     string // empty: made from Name
	Role     string
	Session  string
	ID       string // the agent's own ID where the request has one, else the workspace's
	ShortID  string // empty: the first eight characters of ID
	Branch   string // of {branch} in a path; empty: the rendered branch
	Hex8     string // eight hexadecimal digits
	Round    int
	Unix     int64 // seconds
}

// place says what a value is put into.
type place int

const (
	inPath place = iota
	inBranch
)

// RenderBranch returns the name of the branch, without refs/heads/.
func (l Layout) RenderBranch(v Values) (string, error) {
	t, err := parseBranch(l.Branch)
	if err != nil {
		return "", err
	}
	return l.renderBranch(t, v)
}

func (l Layout) renderBranch(t template, v Values) (string, error) {
	if err := l.checkNeeds(v); err != nil {
		return "", err
	}
	branch, err := t.fill(func(variable string) (string, error) { return l.value(variable, v, inBranch) })
	if err != nil {
		return "", err
	}
	if err := CheckBranch(branch); err != nil {
		return "", err
	}
	return branch, nil
}

// RenderPath returns the directory of the workspace, absolute and clean. It
// lies below the base directory and is not, and does not hold, the main
// checkout.
func (l Layout) RenderPath(v Values) (string, error) {
	t, err := parsePath(l.Path)
	if err != nil {
		return "", err
	}
	if err := l.checkNeeds(v); err != nil {
		return "", err
	}
	base, err := l.baseDir(t, v)
	if err != nil {
		return "", err
	}
	path, err := l.join(base, t.dirs[t.shared():], v)
	if err != nil {
		return "", err
	}
	if !isBelow(base, path) {
		return "", nameError("path", path, "leaves the directory "+quote(base), "")
	}
	repo := filepath.Clean(v.RepoPath)
	// The comparison is without regard to case, because the file system may
	// have none either.
	if f, r := Fold(path), Fold(repo); f == r || isBelow(f, r) {
		return "", nameError("path", path, "would lie over the repository "+quote(repo), "")
	}
	return path, nil
}

// BaseDir returns the directory below which all workspaces of a repository
// lie, absolute and clean: the longest part of the path template that is the
// same for all of them. It is empty where RenderPath would refuse the
// template or the arguments.
func (l Layout) BaseDir(repoPath, repo, home string) string {
	t, err := parsePath(l.Path)
	if err != nil {
		return ""
	}
	base, _ := l.baseDir(t, Values{RepoPath: repoPath, Repo: repo, Home: home})
	return base
}

// IsNested reports whether the base directory lies inside the main checkout.
func (l Layout) IsNested(repoPath, repo, home string) bool {
	base := l.BaseDir(repoPath, repo, home)
	return base != "" && isBelow(filepath.Clean(repoPath), base)
}

func (l Layout) baseDir(t pathTemplate, v Values) (string, error) {
	if !isAbsolute(v.RepoPath) {
		return "", requestError("the repository's path "+quote(v.RepoPath)+" is not absolute", "")
	}
	base := filepath.Clean(v.RepoPath)
	switch t.anchor {
	case anchorHome:
		if !isAbsolute(v.Home) {
			return "", requestError("the agent's home "+quote(v.Home)+" is not an absolute path", "")
		}
		base = filepath.Clean(v.Home)
	case anchorRoot:
		base = t.root
	case anchorRepo:
		base = filepath.Join(base, strings.Repeat("../", t.up))
	}
	base, err := l.join(base, t.dirs[:t.shared()], v)
	if err != nil {
		return "", err
	}
	if Fold(base) == Fold(filepath.Clean(v.RepoPath)) {
		return "", templateError("path", l.Path, "puts workspaces among the project's own files: it needs a directory of its own")
	}
	return base, nil
}

// join appends components to a directory. Each of them is a single safe one,
// so that what comes out lies below what went in.
func (l Layout) join(dir string, components []template, v Values) (string, error) {
	for _, t := range components {
		s, err := t.fill(func(variable string) (string, error) { return l.value(variable, v, inPath) })
		if err != nil {
			return "", err
		}
		if p := componentProblem(s, dotAllowed); p != "" {
			return "", nameError("directory", s, p, "")
		}
		dir = filepath.Join(dir, s)
	}
	return dir, nil
}

func (l Layout) checkNeeds(v Values) error {
	if l.Session == NeedRequired && v.Session == "" {
		return sessionRequiredError()
	}
	if l.Role == NeedRequired && v.Role == "" {
		return roleRequiredError()
	}
	return nil
}

// value returns what the variable stands for, or refuses it.
func (l Layout) value(variable string, v Values, where place) (string, error) {
	switch variable {
	case "repo":
		return v.Repo, checkRepoName(v.Repo)
	case "prefix":
		if where == inBranch {
			return l.branchPrefix()
		}
		return l.pathPrefix()
	case "name":
		return nameValue(v.Name, where)
	case "slug":
		return slugValue(v)
	case "role":
		if v.Role == "" {
			return "", roleRequiredError()
		}
		return v.Role, CheckRole(v.Role)
	case "session":
		if v.Session == "" {
			return "", sessionRequiredError()
		}
		return v.Session, CheckSession(v.Session)
	case "id":
		return v.ID, checkPart("id", v.ID)
	case "shortid":
		return cmp.Or(v.ShortID, ShortID(v.ID)), checkPart("id", v.ID)
	case "branch":
		return l.branchValue(v)
	case "hex8":
		return v.Hex8, checkHex8(v.Hex8)
	case "round":
		return numberValue("round", int64(v.Round))
	case "unix":
		return numberValue("time", v.Unix)
	}
	return "", templateError("layout", "{"+variable+"}", "cannot be used here")
}

func (l Layout) pathPrefix() (string, error) {
	if l.Prefix == "" {
		return "", noPrefixError()
	}
	if p := componentProblem(l.Prefix, dotRefused); p != "" {
		return "", templateError("path", l.Path, "uses the prefix "+quote(l.Prefix)+", which "+p)
	}
	return l.Prefix, nil
}

// branchPrefix may hold slashes. The branch as a whole is checked later.
func (l Layout) branchPrefix() (string, error) {
	if l.Prefix == "" {
		return "", noPrefixError()
	}
	return l.Prefix, nil
}

func nameValue(name string, where place) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	if where == inPath {
		if p := componentProblem(name, dotRefused); p != "" {
			return "", nameError("name", name, p, suggestPart(name))
		}
	}
	return name, nil
}

func slugValue(v Values) (string, error) {
	slug := v.Slug
	if slug == "" {
		if err := CheckName(v.Name); err != nil {
			return "", err
		}
		slug = Slug(v.Name)
	}
	if p := componentProblem(slug, dotRefused); p != "" {
		return "", nameError("slug", slug, p, suggestPart(slug))
	}
	return slug, nil
}

// branchValue is the branch as part of a path.
func (l Layout) branchValue(v Values) (string, error) {
	branch := v.Branch
	if branch == "" {
		var err error
		if branch, err = l.RenderBranch(v); err != nil {
			return "", err
		}
	} else if err := CheckBranch(branch); err != nil {
		return "", err
	}
	flat := strings.ReplaceAll(branch, "/", "-")
	if p := componentProblem(flat, dotRefused); p != "" {
		return "", nameError("branch", branch, p+" as part of a directory's name", suggestPart(branch))
	}
	return flat, nil
}

func checkHex8(s string) error {
	if len(s) != 8 || !isHex(s) {
		return requestError("hex8 "+quote(s)+" is not eight hexadecimal digits", "")
	}
	return nil
}

// numberValue refuses what is negative: its sign would be a dash.
func numberValue(noun string, n int64) (string, error) {
	if n < 0 {
		return "", requestError("the "+noun+" "+strconv.FormatInt(n, 10)+" is negative", "")
	}
	return strconv.FormatInt(n, 10), nil
}

// isAbsolute reports whether path can be an anchor. A NUL would end it early
// where it is handed to the system.
func isAbsolute(path string) bool {
	return filepath.IsAbs(path) && !strings.ContainsRune(path, 0)
}

// isBelow reports whether path lies strictly below dir. Both are clean.
func isBelow(dir, path string) bool {
	if !strings.HasSuffix(dir, string(filepath.Separator)) {
		dir += string(filepath.Separator)
	}
	return len(path) > len(dir) && strings.HasPrefix(path, dir)
}

func requestError(message, hint string) error {
	return &croft.Error{Code: croft.InvalidRequest, Op: "layout", Message: message, Hint: hint}
}

func roleRequiredError() error {
	return requestError("role is required", "--role NAME")
}

func sessionRequiredError() error {
	return &croft.Error{
		Code:    croft.SessionRequired,
		Op:      "layout",
		Message: "sessionId is required",
		Hint:    "--session NAME",
	}
}
