//go:build failpoints

package engine_test

import (
	"slices"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestHalfRemoved kills a process that removes a workspace, before and after the directory
// was moved to the trash. Until the next change recovers it, the list and the doctor say
// that its removal was interrupted, and nothing else.
func TestHalfRemoved(t *testing.T) {
	for _, point := range []string{"remove.journalled", "remove.archived", "remove.moved", "remove.stowed"} {
		t.Run(point, func(t *testing.T) {
			r := gittest.New(t)
			brief(t, r, func(e *engine.Engine) { create(t, e, croft.CreateRequest{Name: "a"}) })
			killed(t, helper(t, r, calling(t, "Remove", croft.RemoveRequest{Workspaces: []croft.Ref{"a"}}), "CROFT_FAILPOINT=kill="+point))
			e := engineIn(t, r, 0)
			list, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{Look: croft.NoLimit})
			if err != nil || len(list.Items) != 1 {
				t.Fatalf("%+v, %v", list, err)
			}
			w := list.Items[0]
			if w.Status != croft.ConditionUnfinished || w.Why != "its removal was interrupted" || w.Next == nil || w.Next.Command != "croft doctor --fix" {
				t.Errorf("%s, %q, %+v", w.Status, w.Why, w.Next)
			}
			found, err := e.Doctor(t.Context(), croft.DoctorRequest{})
			if err != nil {
				t.Fatal(err)
			}
			codes := []string{}
			for _, f := range found.Findings {
				if f.Code != "LOCK_STALE" {
					codes = append(codes, f.Code)
				}
			}
			if !slices.Equal(codes, []string{"OPERATION_INTERRUPTED"}) {
				t.Errorf("the doctor finds %q: %+v", codes, found.Findings)
			}
			if _, err := e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll}); err != nil {
				t.Fatal(err)
			}
			if list, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{}); err != nil || len(list.Items) != 0 {
				t.Errorf("after the doctor: %+v, %v", list, err)
			}
		})
	}
}
