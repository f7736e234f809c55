package cli

import (
	"slices"
	"testing"
)

// TestFileRows: what goes as a whole and what loses only lines is told apart, and many files of one directory take one row.
func TestFileRows(t *testing.T) {
	a := &app{env: Env{Dir: "/elsewhere"}}
	var got []string
	a.fileRows(func(what, path, remark string) { got = append(got, what+" "+path+": "+remark) }, []string{
		"/src/app/.git/info/exclude", "/src/app/.git/croft/staging", "/src/app/.claude/settings.json", "/state/repos/x",
		"/logs/1.log", "/logs/2.log", "/logs/3.log", "/logs/4.log", "/git/app.git/info/exclude",
	}, "/src/app", "would be")
	want := []string{
		"file /src/app/.git/info/exclude: Croft's lines would be removed",
		"file /src/app/.git/croft/staging: would be removed",
		"file /src/app/.claude/settings.json: Croft's lines would be removed",
		"file /state/repos/x: would be removed",
		"files /logs: 4 files would be removed",
		"file /git/app.git/info/exclude: Croft's lines would be removed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
