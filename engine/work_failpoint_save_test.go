//go:build failpoints

package engine_test

import (
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestKilledSaveWithKey: a process that saves is killed, and the request repeated: there is
// one commit, the answer has it and its number of files, and the history has one act.
func TestKilledSaveWithKey(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		return oneDirty(t), calling(t, "Save", croft.SaveRequest{Key: "k", Workspace: "a", Message: "half of it"})
	}
	eachKill(t, setting, func(t *testing.T, r *gittest.Repo, e *engine.Engine, answer string) {
		w, err := e.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "a"})
		if err != nil {
			t.Fatal(err)
		}
		made := strings.Fields(r.Git("rev-list", "main.."+w.Branch))
		if len(made) != 1 || !strings.Contains(answer, made[0]) || strings.Contains(answer, `"files":0`) {
			t.Errorf("commits %v; the answer was %s", made, answer)
		}
		wantNoted(t, e, "save", 1)
	})
}
