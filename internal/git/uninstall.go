package git

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/pattern"
)

// ownFiles are the entries of the directory croft in the common directory that can be
// deleted at any time. Removed workspaces may be in another one, trash.
func ownFiles() []string { return []string{"staging", "exclude", "gitconfig"} }

// Generated matches the file names in the directory for generated configuration.
var Generated = pattern.New(`^(` + gitcmd.VersionFile + `|user\.json|` + gitcmd.SelfTestFile + `|seen-[0-9.]+|config-[0-9a-f]{16}|selftest-[0-9]+|\.croft-[0-9]+)$`)

// Needed is what stays when Croft is uninstalled from a repository.
type Needed struct {
	Excludes []string // patterns of the exclude file
	// Others says that another user has a Croft state for this repository. What all of
	// them share stays.
	Others bool
}

// OwnFiles returns the existing paths below the common directory that are Croft's own, and
// the configuration and the exclude file if Croft added to them.
func (r *Repository) OwnFiles(needed Needed) []string {
	if needed.Others {
		return nil
	}
	var list []string
	for _, name := range ownFiles() {
		if path := r.CommonPath("croft/" + name); fsx.IsThere(path) {
			list = append(list, path)
		}
	}
	if r.isOnlyOwn() {
		list = append(list, r.CommonPath("croft"))
	}
	if r.hasRoleIncludes() {
		list = append(list, r.CommonPath("config"))
	}
	if text, err := fsx.ReadFile(r.CommonPath(excludeFile), gitconfig.MaxSize); err == nil && r.withoutExcluded(string(text), needed.Excludes) != string(text) {
		list = append(list, r.CommonPath(excludeFile))
	}
	return list
}

// DeleteOwnFiles removes them. The section of the configuration goes first, so that it never
// names a missing file. The caller holds the repository's lock.
func (r *Repository) DeleteOwnFiles(needed Needed) error {
	if needed.Others {
		return nil
	}
	if r.hasRoleIncludes() {
		if err := r.changeConfig(withoutRoleIncludes); err != nil {
			return err
		}
	}
	if len(r.excluded()) > 0 && fsx.IsThere(r.CommonPath(excludeFile)) {
		without := func(old string) string { return r.withoutExcluded(old, needed.Excludes) }
		if err := (commonFile{name: excludeFile, limit: gitconfig.MaxSize}).replaceText(r, without); err != nil {
			return err
		}
	}
	common, err := fsx.OpenDir(r.CommonDir)
	if err != nil {
		return err
	}
	defer common.Close()
	d, err := common.OpenDir("croft")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	for _, name := range ownFiles() {
		if err := d.RemoveAll(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if d.IsEmpty() {
		return common.RemoveAll("croft")
	}
	return nil
}

// isOnlyOwn reports whether the directory croft exists and has nothing in it that stays.
func (r *Repository) isOnlyOwn() bool {
	d, err := fsx.OpenDir(r.CommonPath("croft"))
	if err != nil {
		return false
	}
	defer d.Close()
	names, err := d.Names()
	return err == nil && !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(ownFiles(), name) })
}

// hasRoleIncludes reports whether the repository's config file has an includeIf section
// that Croft added for roles.
func (r *Repository) hasRoleIncludes() bool {
	b, err := fsx.ReadFile(r.CommonPath("config"), gitconfig.MaxSize)
	return err == nil && withoutRoleIncludes(string(b)) != string(b)
}

// withoutRoleIncludes removes the sections that Croft added from a configuration: a
// conditional include of its own file, with nothing else in the section.
func withoutRoleIncludes(text string) string {
	var out strings.Builder
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); i++ {
		isLast := i+2 >= len(lines) || lines[i+2] == "" || strings.HasPrefix(lines[i+2], "[")
		if isLast && i+1 < len(lines) && isConditional(lines[i]) && namesRoles(lines[i+1]) {
			i++
			continue
		}
		out.WriteString(lines[i])
	}
	return out.String()
}

func isConditional(line string) bool {
	const section = "[includeif "
	return len(line) > len(section) && strings.EqualFold(line[:len(section)], section)
}

func namesRoles(line string) bool {
	key, value, ok := strings.Cut(line, "=")
	return ok && strings.EqualFold(strings.TrimSpace(key), "path") && strings.Trim(strings.TrimSpace(value), `"`) == gitconfig.RoleInclude
}
