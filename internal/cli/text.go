package cli

import (
	"path/filepath"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/wording"
	"github.com/croft-sh/croft/internal/screen"
)

// The words of package wording, as the commands call them.

func quoted(word string) string                           { return wording.Quoted(word) }
func shellWord(word string) string                        { return wording.ShellWord(word) }
func shortCommit(commit string) string                    { return wording.ShortCommit(commit) }
func nameOrHash(text string) string                       { return wording.NameOrHash(text) }
func countNoun[N int | int64](n N, noun string) string    { return wording.CountNoun(n, noun) }
func countOf[N int | int64](n N, one, many string) string { return wording.CountOf(n, one, many) }
func ageText(now, then time.Time) string                  { return wording.Age(now, then) }
func whenText(now, then time.Time) string                 { return wording.Ago(now, then) }
func keptText(now, until time.Time) string                { return wording.Kept(now, until) }
func sizeText(bytes int64) string                         { return wording.Size(bytes) }
func fewNames(names []string) string                      { return wording.FewNames(names) }
func orDash(text string) string                           { return wording.OrDash(text) }
func shortIDs(ids []croft.ID) map[croft.ID]string         { return wording.ShortIDs(ids) }

// printable replaces what a terminal would act upon. Lock reasons and paths
// may be written by an agent.
func printable(text string) string { return screen.Printable(text) }

// shownPath is a path as it is shown: relative to the working directory if that is
// shorter.
func (a *app) shownPath(path string) string {
	rel, err := filepath.Rel(a.env.Dir, path)
	if err == nil && len(rel) < len(path) {
		path = rel
	}
	return printable(path)
}
