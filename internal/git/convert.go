package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/git/index"
)

// nativeCRLF says whether lines end in CRLF where no attribute or setting decides.
const nativeCRLF = runtime.GOOS == "windows"

// Conversion is what git changes in a file when it writes the file to a checkout.
type Conversion struct {
	Filter string // the name of a filter; "ident" or "encoding" for git's own conversions
	CRLF   bool   // line ends may become CRLF
}

// HasFilters reports whether any configuration names a filter other than git-lfs, whether
// Croft lets it run or not.
func (w *Worktree) HasFilters(ctx context.Context) (bool, error) {
	now, err := w.Repo.SettingsOf(ctx, w.Admin)
	if err != nil {
		return false, err
	}
	return now.HasFilters, nil
}

// Conversions returns the files of an index that a checkout may write differently from
// their blobs, by the attributes in the index.
func (w *Worktree) Conversions(ctx context.Context, x *index.Index) (map[string]Conversion, error) {
	now, err := w.Repo.SettingsOf(ctx, w.Admin)
	if err != nil {
		return nil, err
	}
	autocrlf, eol := now.Values["core.autocrlf"], now.Values["core.eol"]
	auto := isSet(autocrlf)
	crlf := auto && autocrlf != "input" || !auto && (eol == "crlf" || nativeCRLF && eol != "lf")
	var paths []string
	for _, e := range x.Entries {
		if e.Stage == 0 && !e.Hidden && !e.Intended && strings.HasPrefix(e.Mode, "100") {
			paths = append(paths, e.Path)
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	if !crlf && !w.mayConvert(ctx, x, now) {
		return nil, nil
	}
	out, err := w.RunGit(ctx, gitcmd.Call{
		Args: []string{"check-attr", "--cached", "-z", "--stdin", "--all"}, Stdin: strings.Join(paths, "\x00") + "\x00",
	})
	if err != nil {
		return nil, err
	}
	found := map[string]Conversion{}
	for path, given := range attributesOf(paths, string(out)) {
		if c := given.conversionOf(auto, crlf); c != (Conversion{}) {
			found[path] = c
		}
	}
	return found, nil
}

// attributes are those that decide about conversions; empty: unspecified.
type attributes struct{ text, crlf, eol, filter, ident, encoding string }

// attributesOf parses the output of `git check-attr --all -z` for paths: a path, an
// attribute and its value at a time, in the order of the paths. Paths without attributes
// are not in the output.
func attributesOf(paths []string, out string) iter.Seq2[string, attributes] {
	next := func() (path, name, value string) {
		rest := out
		path, rest, _ = strings.Cut(rest, "\x00")
		name, rest, _ = strings.Cut(rest, "\x00")
		value, out, _ = strings.Cut(rest, "\x00")
		return path, name, value
	}
	return func(yield func(string, attributes) bool) {
		of, name, value := next()
		for _, path := range paths {
			var a attributes
			for ; of == path && name != ""; of, name, value = next() {
				switch name {
				case "text":
					a.text = value
				case "crlf":
					a.crlf = value
				case "eol":
					a.eol = value
				case "filter":
					a.filter = value
				case "ident":
					a.ident = value
				case "working-tree-encoding":
					a.encoding = value
				}
			}
			if !yield(path, a) {
				return
			}
		}
	}
}

// BlobSizes returns the sizes of blobs, in their order; -1 for one that does not exist or
// is another object.
func (r *Repository) BlobSizes(ctx context.Context, oids []string) ([]int64, error) {
	if len(oids) == 0 {
		return nil, nil
	}
	out, err := r.Git.Run(ctx, gitcmd.Target{Repo: r.Core()}, gitcmd.Call{
		Args: []string{"cat-file", "--batch-check=%(objecttype) %(objectsize)", "--buffer"}, Stdin: strings.Join(oids, "\n") + "\n",
	})
	if err != nil {
		return nil, err
	}
	sizes := make([]int64, 0, len(oids))
	for line := range strings.Lines(string(out)) {
		size, isBlob := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "blob ")
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil || !isBlob {
			n = -1
		}
		sizes = append(sizes, n)
	}
	if len(sizes) != len(oids) {
		return nil, fmt.Errorf("cat-file: %d answers to %d questions", len(sizes), len(oids))
	}
	return sizes, nil
}

// isSet reports whether a setting that is true, false or another word is not false.
func isSet(value string) bool {
	switch strings.ToLower(value) {
	case "", "false", "no", "off", "0":
		return false
	}
	return true
}

// mayConvert reports whether an attributes file, in the index, the repository, the user's
// or the system's, may set an attribute that converts files. Usually none does, and git
// need not be asked about every file.
func (w *Worktree) mayConvert(ctx context.Context, x *index.Index, now *gitcmd.Settings) bool {
	files, known := systemAttributes(w.Repo.Git)
	if !known || now.Values["core.attributesfile"] != "" {
		return true
	}
	files = append(files, filepath.Join(w.Repo.HostDir(), "info", "attributes"), filepath.Join(w.Repo.Git.ConfigHome(), "git", "attributes"))
	for _, f := range files {
		if text, err := fsx.ReadFile(f, gitconfig.MaxSize); !errors.Is(err, os.ErrNotExist) && (err != nil || attributesMatter(text)) {
			return true
		}
	}
	for _, e := range x.Entries {
		if path.Base(e.Path) != ".gitattributes" {
			continue
		}
		o, err := w.Repo.Read(ctx, e.OID)
		if err != nil || e.Stage > 0 || !strings.HasPrefix(e.Mode, "100") || attributesMatter(o.Data) {
			return true
		}
	}
	return false
}

// attributesMatter reports, by the words in an attributes file, whether it may convert any
// file.
func attributesMatter(text []byte) bool {
	return slices.ContainsFunc([]string{"filter", "ident", "encoding", "crlf", "[attr]"}, func(word string) bool {
		return bytes.Contains(text, []byte(word))
	})
}

// systemAttributes lists where this git may look for the attributes of the whole machine.
// It is known only for Linux how git chooses: below the directory that it was built for,
// or in /etc.
func systemAttributes(g *gitcmd.Git) ([]string, bool) {
	if runtime.GOOS != "linux" {
		return nil, false
	}
	dir := g.ExecPath()
	for _, suffix := range []string{"/lib/git-core", "/libexec/git-core"} {
		if prefix, ok := strings.CutSuffix(dir, suffix); ok {
			return []string{"/etc/gitattributes", filepath.Join(prefix, "etc", "gitattributes")}, true
		}
	}
	return nil, false
}

// conversionOf returns the conversion by the attributes of one path. With auto, files
// without any attribute are converted, too.
func (a attributes) conversionOf(auto, crlf bool) Conversion {
	const unset = "unset"
	set := func(v string) bool { return v != unset && v != "" }
	c := Conversion{}
	switch {
	case set(a.filter):
		c.Filter = a.filter
	case set(a.ident):
		c.Filter = "ident"
	case set(a.encoding):
		c.Filter = "encoding"
	}
	lines := a.text != unset && (a.text != "" || a.crlf != unset && (auto || set(a.crlf) || set(a.eol)))
	c.CRLF = lines && (a.eol == "crlf" || a.eol != "lf" && a.crlf != "input" && a.text != "input" && crlf)
	return c
}
