package gitconfig

import (
	"fmt"
	"slices"
	"strings"
)

// Class says how Croft treats a setting of a repository's own configuration, which any
// agent in one of its checkouts can write.
type Class string

const (
	// ClassData cannot name a program or a file: passed to git as it is.
	ClassData Class = "data"
	// ClassPinned decides about identity, format or the addresses of remotes: taken when
	// Croft first sees the repository, and changed only when a person accepts it.
	ClassPinned Class = "pinned"
	// ClassFilter names a program: used if a person approved the exact command.
	ClassFilter Class = "filter"
	// ClassContent names a file of patterns, which is copied.
	ClassContent Class = "content"
	// ClassNever is everything else, includes among them: not passed to git.
	ClassNever Class = "never"
)

// dataKeys decide how files are written to disk and read back, and how git compares them.
var dataKeys = strings.Fields(`core.filemode core.symlinks core.ignorecase core.precomposeunicode
	core.autocrlf core.eol core.safecrlf core.checkroundtripencoding core.longpaths core.hidedotfiles
	core.checkstat core.trustctime core.bigfilethreshold core.logallrefupdates core.splitindex core.untrackedcache
	index.version i18n.commitencoding merge.renames merge.directoryrenames merge.renamelimit merge.conflictstyle
	diff.renames diff.renamelimit diff.algorithm`)

// guardKeys keep git from writing to its own directory by an equivalent name. Only values
// that switch them on are used.
var guardKeys = []string{"core.protecthfs", "core.protectntfs"}

var pinnedKeys = strings.Fields(`core.repositoryformatversion core.sharedrepository
	extensions.objectformat extensions.compatobjectformat extensions.refstorage extensions.partialclone
	extensions.preciousobjects extensions.noop extensions.noop-v1 extensions.relativeworktrees
	user.name user.email user.useconfigonly user.signingkey author.name author.email committer.name committer.email
	commit.gpgsign gpg.format lfs.url`)

// ContentKeys name files of patterns, which are used like info/exclude and
// info/attributes.
var ContentKeys = []string{"core.excludesfile", "core.attributesfile"}

// SparseKeys decide which files of a commit a checkout has. Each checkout has its own; see
// gitcmd's sparseOf.
var SparseKeys = []string{"core.sparsecheckout", "core.sparsecheckoutcone", "index.sparse"}

// Class returns how Croft treats the setting.
func (e Entry) Class() Class {
	switch {
	case slices.Contains(dataKeys, e.Key):
		return ClassData
	case slices.Contains(guardKeys, e.Key) && (e.Bare || IsTrue(e.Value)):
		return ClassData
	case slices.Contains(pinnedKeys, e.Key):
		return ClassPinned
	case slices.Contains(ContentKeys, e.Key):
		return ClassContent
	}
	section, _, _ := strings.Cut(e.Key, ".")
	name := e.Key[strings.LastIndexByte(e.Key, '.')+1:]
	if _, ok := Subsection(e.Key, section+"."); !ok {
		return ClassNever
	}
	switch section + "." + name {
	case "branch.remote", "branch.merge", "remote.fetch":
		return ClassData
	case "remote.url", "remote.lfsurl":
		// Any transport other than git's own is a program, and a leading dash may be an
		// option.
		if strings.Contains(e.Value, "::") || strings.HasPrefix(e.Value, "-") {
			return ClassNever
		}
		return ClassPinned
	case "remote.promisor", "remote.partialclonefilter":
		return ClassPinned
	case "filter.clean", "filter.smudge", "filter.process", "filter.required":
		return ClassFilter
	}
	return ClassNever
}

// LFSCommands are the commands that `git lfs install --local` writes. They run only
// git-lfs.
var LFSCommands = []string{
	"git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs smudge --skip -- %f",
	"git-lfs filter-process", "git-lfs filter-process --skip",
}

// UnknownExtensionError says that a repository has an extension that git may support and
// Croft does not.
type UnknownExtensionError struct{ Name string }

func (e *UnknownExtensionError) Error() string {
	return fmt.Sprintf("the repository has the extension %q", e.Name)
}

// CheckExtensions fails with an *UnknownExtensionError if a repository has an extension
// that Croft does not pass to git: git would treat it as a repository without.
func CheckExtensions(entries []Entry) error {
	isNew := false
	for _, e := range entries {
		if e.Key == "core.repositoryformatversion" {
			isNew = e.Value != "0"
		}
	}
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Key, "extensions.")
		if ok && isNew && name != "worktreeconfig" && e.Class() == ClassNever {
			return &UnknownExtensionError{name}
		}
	}
	return nil
}
