package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitconfig"
)

const excludeFile = "info/exclude"

// Exclude adds patterns to the exclude file that all checkouts of the repository share,
// unless they are in it. The caller holds the repository's lock.
func (r *Repository) Exclude(patterns ...string) error {
	text, _ := fsx.ReadFile(r.CommonPath(excludeFile), gitconfig.MaxSize)
	if missing := missingPatterns(string(text), patterns); len(missing) > 0 {
		if err := r.noteExcluded(missing); err != nil {
			return err
		}
	}
	return commonFile{name: excludeFile, limit: gitconfig.MaxSize}.replaceText(r, func(old string) string {
		text := old
		for _, p := range missingPatterns(old, patterns) {
			if text != "" && !strings.HasSuffix(text, "\n") {
				text += "\n"
			}
			text += p + "\n"
		}
		return text
	})
}

// missingPatterns returns the patterns that are not a line of text.
func missingPatterns(text string, patterns []string) []string {
	have := map[string]bool{}
	for line := range strings.Lines(text) {
		have[strings.TrimRight(line, "\r\n")] = true
	}
	return slices.DeleteFunc(slices.Clone(patterns), func(p string) bool { return have[p] })
}

// excludedFile is the path of the list of patterns that Croft has added, one per line. A
// pattern that was in the exclude file before is not Croft's to remove.
func (r *Repository) excludedFile() string { return filepath.Join(r.Dir, "excluded") }

func (r *Repository) excluded() []string {
	b, _ := os.ReadFile(r.excludedFile())
	return strings.FieldsFunc(string(b), func(c rune) bool { return c == '\n' })
}

func (r *Repository) noteExcluded(patterns []string) error {
	have := r.excluded()
	for _, p := range patterns {
		if !slices.Contains(have, p) {
			have = append(have, p)
		}
	}
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return err
	}
	return fsx.ReplaceIfChanged(r.excludedFile(), strings.Join(have, "\n")+"\n")
}

// withoutExcluded removes the lines that Croft added from the text of an exclude file,
// except those that are needed.
func (r *Repository) withoutExcluded(text string, needed []string) string {
	added := r.excluded()
	var out strings.Builder
	for line := range strings.Lines(text) {
		if p := strings.TrimRight(line, "\r\n"); slices.Contains(added, p) && !slices.Contains(needed, p) {
			continue
		}
		out.WriteString(line)
	}
	return out.String()
}
