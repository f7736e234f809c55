package servicetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
)

// localScratchScenarios need a shared disk.
type localScratchScenarios struct{}

// ArchiveTimes: archived files have the time at which the round ended.
func (localScratchScenarios) ArchiveTimes(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	r := f.round(croft.RoundRequest{Session: ses.ID})
	w := seatOf(t, r, "opus")
	f.writeIn(w, ".croft_scratch/eval/run.py", "run\n")
	done := f.endRound(r)
	for p := archived(w.Env["CROFT_HOME"], w, "eval/run.py"); p != w.Env["CROFT_HOME"]; p = filepath.Dir(p) {
		info, err := os.Stat(p)
		must(t, err)
		if !info.ModTime().Equal(done.EndedAt) {
			t.Errorf("%s: %v, the round ended %v", p, info.ModTime(), done.EndedAt)
		}
	}
}

func (localScratchScenarios) LinksAreNotFollowed(t *testing.T, f *fixture) {
	secret := filepath.Join(f.Home, "secret")
	must(t, os.WriteFile(secret, []byte("secret"), 0o600))
	ses := f.session(croft.SessionRequest{})
	r := f.round(croft.RoundRequest{Session: ses.ID})
	w := seatOf(t, r, "opus")
	f.writeIn(w, ".croft_scratch/n", "n")
	if err := os.Symlink(secret, filepath.Join(w.Scratch, "out")); err != nil {
		t.Skip("needs symbolic links")
	}
	must(t, os.Symlink(f.Home, filepath.Join(w.Scratch, "dir")))
	f.endRound(r)
	for _, name := range []string{"out", "dir"} {
		info, err := os.Lstat(archived(w.Env["CROFT_HOME"], w, name))
		if err != nil || info.Mode().Type() != os.ModeSymlink {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	// A link that has replaced a scratch directory is not followed either.
	two := f.round(croft.RoundRequest{Session: ses.ID})
	w = seatOf(t, two, "opus")
	f.delete(w.Scratch)
	must(t, os.Symlink(f.Home, w.Scratch))
	f.endRound(two)
	if f.exists(archived(w.Env["CROFT_HOME"], w, "secret")) {
		t.Error("the link was followed")
	}
}
