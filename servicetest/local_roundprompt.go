package servicetest

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
)

// loseDatabase deletes the database. The next service that is opened rebuilds it from its
// second copy.
func (f *fixture) loseDatabase() {
	f.t.Helper()
	list, err := filepath.Glob(filepath.Join(f.Home, "state", "croft.db*"))
	if err != nil || len(list) == 0 {
		f.t.Fatalf("no database: %v, %v", list, err)
	}
	for _, path := range list {
		f.delete(path)
	}
}

// localRoundScenarios need a shared disk.
type localRoundScenarios struct{}

func (localRoundScenarios) LostDatabase(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{Name: "fix"})
	r := f.round(croft.RoundRequest{Session: ses.ID})
	f.writeIn(seatOf(t, r, "opus"), "x.txt", "x\n")
	f.loseDatabase()
	svc := f.at(f.Dir)
	same, err := svc.StartRound(t.Context(), croft.RoundRequest{Session: ses.ID, Number: 1, Agents: []string{"opus", "codex"}})
	must(t, err)
	if diff := cmp.Diff(r, *same); diff != "" {
		t.Errorf("after the database was lost:\n%s", diff)
	}
	must(t, errOf(svc.EndRound(t.Context(), croft.EndRoundRequest{Round: r.ID})))
	if _, err := svc.EndSession(t.Context(), croft.EndSessionRequest{Session: ses.ID}); err != nil || len(f.branches()) != 0 {
		t.Errorf("%v, %v", err, f.branches())
	}
}
