package git

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// class says what becomes of a setting of a repository's own configuration,
// which can be written by whoever works in one of its checkouts.
type class string

const (
	// classData cannot name a program or a file: carried as it is at any time.
	classData class = "data"
	// classPinned decides about identity, format or where to fetch from: taken when
	// Croft first sees the repository, and later by a person's word only.
	classPinned class = "pinned"
	// classFilter names a program: run if a person approved the exact command.
	classFilter class = "filter"
	// classContent names a file of patterns, which is copied.
	classContent class = "content"
	// classNever is all else, includes among it.
	classNever class = "never"
)

// dataKeys decide how files come to disk and go back, and how git compares
// them.
var dataKeys = strings.Fields(`core.filemode core.symlinks core.ignorecase core.precomposeunicode
	core.autocrlf core.eol core.safecrlf core.checkroundtripencoding core.longpaths core.hidedotfiles
	core.checkstat core.trustctime core.bigfilethreshold core.logallrefupdates core.splitindex core.untrackedcache
	index.version i18n.commitencoding merge.renames merge.directoryrenames merge.renamelimit merge.conflictstyle
	diff.renames diff.renamelimit diff.algorithm`)

// guardKeys keep git from writing to its own directory by an odd name. Only
// what switches them on is carried.
var guardKeys = []string{"core.protecthfs", "core.protectntfs"}

var pinnedKeys = strings.Fields(`core.repositoryformatversion core.sharedrepository
	extensions.objectformat extensions.compatobjectformat extensions.refstorage extensions.partialclone
	extensions.preciousobjects extensions.noop extensions.noop-v1 extensions.relativeworktrees
	user.name user.email user.useconfigonly user.signingkey author.name author.email committer.name committer.email
	commit.gpgsign gpg.format lfs.url`)

// contentKeys name files that hold patterns. What is in them counts, as what is
// in info/exclude and info/attributes does.
var contentKeys = []string{"core.excludesfile", "core.attributesfile"}

// sparseKeys decide which files of a commit a checkout holds. They belong to
// one checkout each; see [Repository.sparse].
var sparseKeys = []string{"core.sparsecheckout", "core.sparsecheckoutcone", "index.sparse"}

func (e configEntry) class() class {
	switch {
	case slices.Contains(dataKeys, e.key):
		return classData
	case slices.Contains(guardKeys, e.key) && (e.bare || isTrue(e.value)):
		return classData
	case slices.Contains(pinnedKeys, e.key):
		return classPinned
	case slices.Contains(contentKeys, e.key):
		return classContent
	}
	section, _, _ := strings.Cut(e.key, ".")
	name := e.key[strings.LastIndexByte(e.key, '.')+1:]
	if _, ok := subsection(e.key, section+"."); !ok {
		return classNever
	}
	switch section + "." + name {
	case "branch.remote", "branch.merge", "remote.fetch":
		return classData
	case "remote.url", "remote.lfsurl":
		// Another transport than git's own is a program, and so may be what
		// looks like an option.
		if strings.Contains(e.value, "::") || strings.HasPrefix(e.value, "-") {
			return classNever
		}
		return classPinned
	case "remote.promisor", "remote.partialclonefilter":
		return classPinned
	case "filter.clean", "filter.smudge", "filter.process", "filter.required":
		return classFilter
	}
	return classNever
}

// lfsCommands are what `git lfs install --local` writes. They run git-lfs and
// nothing else.
var lfsCommands = []string{
	"git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs smudge --skip -- %f",
	"git-lfs filter-process", "git-lfs filter-process --skip",
}

// UnknownExtensionError says that a repository is of a form that git may know
// and Croft does not.
type UnknownExtensionError struct{ Name string }

func (e *UnknownExtensionError) Error() string {
	return fmt.Sprintf("the repository has the extension %q", e.Name)
}

// checkExtensions refuses a repository with an extension that is not carried:
// git would take it for one without.
func checkExtensions(entries []configEntry) error {
	isNew := false
	for _, e := range entries {
		if e.key == "core.repositoryformatversion" {
			isNew = e.value != "0"
		}
	}
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.key, "extensions.")
		if ok && isNew && name != "worktreeconfig" && e.class() == classNever {
			return &UnknownExtensionError{name}
		}
	}
	return nil
}

// hostConfig is the text of the host directory's configuration: what the
// repository's own says now as far as it is data, and what it said when it was
// pinned.
func (r *Repository) hostConfig(s *hostState) []byte {
	var b bytes.Buffer
	for _, p := range s.record.Pinned {
		writeEntry(&b, configEntry{key: p.Key, value: p.Value})
	}
	for _, e := range s.entries {
		if e.class() == classData {
			writeEntry(&b, e)
		}
	}
	for _, key := range contentKeys {
		if s.files[key] != nil {
			writeEntry(&b, configEntry{key: key, value: r.contentFile(key)})
		}
	}
	writeEntry(&b, configEntry{key: "core.bare", value: fmt.Sprint(r.Bare)})
	writeEntry(&b, configEntry{key: "lfs.storage", value: r.commonPath("lfs")})
	return b.Bytes()
}
