package mergetree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/odb"
)

// FilePatch is the difference of one file between two trees.
type FilePatch struct {
	odb.Change
	Status   byte   // 'A', 'M', 'D', 'R' or 'T', as in git diff --raw
	OldPath  string // of a renamed file, else empty
	IsBinary bool   // there are no hunks
	NotShown int64  // how many bytes a file has whose hunks are left out, because that is too much; IsBinary then, too
	Hunks    []PatchHunk
}

// PatchHunk is one changed place of a file: the lines of the old range became those of the
// new one.
type PatchHunk struct {
	Header             string // "@@ -1,3 +1,4 @@" and the function name after it
	OldStart, OldLines int    // an empty range begins after the line that it names
	NewStart, NewLines int
	Added, Deleted     int
	Text               string // the lines, each after ' ', '-', '+' or '\'
}

// patchArgs override, together with the configuration that Patch passes, the settings that
// would change the form of a diff.
var patchArgs = []string{
	"diff-tree", "-r", "--raw", "--find-renames", "--no-abbrev", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv",
	"--unified=3", "--inter-hunk-context=0", "--diff-algorithm=myers", "--indent-heuristic", "--src-prefix=a/", "--dst-prefix=b/",
	"--submodule=short", "--ignore-submodules=none", "--no-relative",
}

// mostPatch is how many bytes the patches of all files may have together, and fileBounds are how large a file may be whose hunks are
// in it: the first bound with which the patch is not too long counts. An agent can make a patch of gigabytes out of a commit of a few kilobytes.
const (
	mostPatch        = 64 << 20
	smallestNotShown = 8 << 10
)

var fileBounds = []int64{8 << 20, 256 << 10, smallestNotShown}

// limitedBuffer keeps what is written, up to a limit.
type limitedBuffer struct {
	kept   bytes.Buffer // not embedded: what copies to it must not find its ReadFrom
	most   int
	isOver bool
}

var errTooLong = errors.New("the patch is too long")

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.kept.Len()+len(p) > b.most {
		b.isOver = true
		return 0, errTooLong
	}
	return b.kept.Write(p)
}

// boundedPatch runs git for a patch within the bounds.
func (a *Session) boundedPatch(ctx context.Context, env []string, sizes map[string]int64, old, now string) ([]FilePatch, error) {
	run := func(out io.Writer, bound int64, more ...string) error {
		_, err := a.q.Repo.Git.Run(ctx, gitcmd.Target{Repo: a.q.Repo.Core()}, gitcmd.Call{
			Args: slices.Concat(patchArgs, more, []string{old, now}), Env: env, Output: out,
			Config: [][2]string{{"core.quotePath", "true"}, {"diff.suppressBlankEmpty", "false"}, {"core.bigFileThreshold", strconv.FormatInt(bound, 10)}},
		})
		return err
	}
	for _, bound := range fileBounds {
		out := limitedBuffer{most: mostPatch}
		if err := run(&out, bound, "-p"); err == nil {
			files, err := parsePatch(out.kept.Bytes())
			return markNotShown(files, sizes, bound), err
		} else if !out.isOver {
			return nil, err
		}
	}
	var out bytes.Buffer // attributes have git show all files as text, or there are too many of them: a list is all
	if err := run(&out, smallestNotShown); err != nil {
		return nil, err
	}
	files, err := (&patchReader{out.Bytes()}).rawLines()
	for i := range files {
		files[i].IsBinary = files[i].OldOID != files[i].NewOID
	}
	return markNotShown(files, sizes, 0), err
}

// markNotShown says how large the files are whose hunks are left out because they are larger than a bound.
func markNotShown(files []FilePatch, sizes map[string]int64, bound int64) []FilePatch {
	for i := range files {
		if size := max(sizes[files[i].OldOID], sizes[files[i].NewOID]); files[i].IsBinary && size > bound {
			files[i].NotShown = size
		}
	}
	return files
}

// rawLines reads the raw differences before a patch.
func (p *patchReader) rawLines() ([]FilePatch, error) {
	var files []FilePatch
	for line, ok := p.peek(); ok && strings.HasPrefix(line, ":"); line, ok = p.peek() {
		f, err := parseRawLine(p.next())
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// Patch returns the files in which two commits or trees differ, with hunks. Either may be
// of this session. It reads the objects from a rehashed copy, and fails with a
// *ForgedError if the content of one does not match its name; not so in a partial clone. Hunks of files that are too large
// are left out.
func (a *Session) Patch(ctx context.Context, old, now string) ([]FilePatch, error) {
	env, sizes := a.q.Env, map[string]int64{}
	if !a.q.Repo.Format.Partial { // a partial clone lacks objects, which git fetches for the diff
		s, err := a.copyRehashed(ctx, old, now)
		if err != nil {
			return nil, err
		}
		defer s.Discard()
		if s.trees[0] == s.trees[1] {
			return nil, nil // the trees do not differ
		}
		common, err := s.makeCommonDir()
		if err != nil {
			return nil, err
		}
		sizes = s.sizes
		env, old, now = append(s.Env, "GIT_COMMON_DIR="+common), s.trees[0], s.trees[1]
	}
	return a.boundedPatch(ctx, env, sizes, old, now)
}

// Diff lists the files in which two commits or trees differ, as [Repository.Diff] does.
// Either may be of this session.
func (a *Session) Diff(ctx context.Context, old, now string) ([]odb.Change, error) {
	out, err := a.q.Repo.Git.Run(ctx, gitcmd.Target{Repo: a.q.Repo.Core()}, gitcmd.Call{
		Args: []string{"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--end-of-options", old, now}, Env: a.q.Env,
	})
	if err != nil {
		return nil, err
	}
	return odb.ParseRaw(out)
}

// patchReader reads the lines of a patch.
type patchReader struct{ rest []byte }

// peek returns the next line without its newline, or false at the end.
func (p *patchReader) peek() (string, bool) {
	if len(p.rest) == 0 {
		return "", false
	}
	line, _, _ := bytes.Cut(p.rest, []byte{'\n'})
	return string(line), true
}

func (p *patchReader) next() string {
	line, rest, _ := bytes.Cut(p.rest, []byte{'\n'})
	p.rest = rest
	return string(line)
}

// parsePatch reads raw differences and the patch after them. The patch has the files in
// the same order, so their headers need not be parsed.
func parsePatch(out []byte) ([]FilePatch, error) {
	p := &patchReader{out}
	files, err := p.rawLines()
	if err != nil {
		return nil, err
	}
	if line, ok := p.peek(); ok && line == "" {
		p.next()
	}
	for i := range files {
		sections := 1
		if files[i].Status == 'T' {
			sections = 2 // a change of type is a deletion and an addition
		}
		for range sections {
			if err := p.section(&files[i]); err != nil {
				return nil, fmt.Errorf("%q: %w", files[i].Path, err)
			}
		}
		if files[i].Status == 'T' || files[i].OldMode == odb.LinkMode || files[i].NewMode == odb.LinkMode {
			files[i].Hunks = nil // no hunks: the whole file changes
		}
	}
	if line, ok := p.peek(); ok {
		return nil, fmt.Errorf("a patch without a file: %q", line)
	}
	return files, nil
}

// parseRawLine reads ":<mode> <mode> <oid> <oid> <status>" and the path, or two paths for
// a rename.
func parseRawLine(line string) (FilePatch, error) {
	parts := strings.Split(line, "\t")
	f := strings.Fields(strings.TrimPrefix(parts[0], ":"))
	if len(f) != 5 || len(parts) < 2 || len(parts) > 3 || (f[4][0] == 'R') != (len(parts) == 3) {
		return FilePatch{}, fmt.Errorf("not a raw difference: %q", line)
	}
	file := FilePatch{Change: odb.Change{OldMode: f[0], NewMode: f[1], OldOID: f[2], NewOID: f[3]}, Status: f[4][0]}
	var err error
	if file.Path, err = gitdir.UnquotePath(parts[len(parts)-1]); err != nil {
		return file, err
	}
	if len(parts) == 3 {
		file.OldPath, err = gitdir.UnquotePath(parts[1])
	}
	return file, err
}

// section reads the part of a patch that is about one file.
func (p *patchReader) section(f *FilePatch) error {
	if line := p.next(); !strings.HasPrefix(line, "diff --git ") {
		return fmt.Errorf("not the beginning of a patch: %q", line)
	}
	for {
		line, ok := p.peek()
		switch {
		case !ok || strings.HasPrefix(line, "diff --git "):
			return nil
		case strings.HasPrefix(line, "@@ "):
			h, err := p.hunk()
			if err != nil {
				return err
			}
			f.Hunks = append(f.Hunks, h)
		default:
			f.IsBinary = f.IsBinary || strings.HasPrefix(line, "Binary files ")
			p.next()
		}
	}
}

// hunk reads one hunk. Its header says how many lines it has, so no line can be taken for
// a header.
func (p *patchReader) hunk() (PatchHunk, error) {
	h := PatchHunk{Header: p.next()}
	f := strings.Fields(h.Header)
	if len(f) < 4 || f[3] != "@@" || !parseRange(f[1], '-', &h.OldStart, &h.OldLines) || !parseRange(f[2], '+', &h.NewStart, &h.NewLines) {
		return h, fmt.Errorf("not the header of a hunk: %q", h.Header)
	}
	var text strings.Builder
	old, now := h.OldLines, h.NewLines
	for {
		line, ok := p.peek()
		if old == 0 && now == 0 && (!ok || !strings.HasPrefix(line, `\`)) {
			h.Text = text.String()
			return h, nil
		}
		if !ok || line == "" {
			return h, fmt.Errorf("the hunk %q ends too early", h.Header)
		}
		switch line[0] {
		case ' ':
			old, now = old-1, now-1
		case '-':
			old--
			h.Deleted++
		case '+':
			now--
			h.Added++
		case '\\': // "\ No newline at end of file"
		default:
			return h, fmt.Errorf("not a line of a hunk: %q", line)
		}
		if old < 0 || now < 0 {
			return h, fmt.Errorf("the hunk %q is longer than it says", h.Header)
		}
		text.WriteString(p.next() + "\n")
	}
}

// parseRange reads a range of a hunk header: "-1,3", or "-1" for one line.
func parseRange(text string, sign byte, start, lines *int) bool {
	if text == "" || text[0] != sign {
		return false
	}
	first, count, ok := strings.Cut(text[1:], ",")
	if !ok {
		count = "1"
	}
	a, errA := strconv.Atoi(first)
	n, errN := strconv.Atoi(count)
	*start, *lines = a, n
	return errA == nil && errN == nil && a >= 0 && n >= 0
}
