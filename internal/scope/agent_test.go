package scope

import (
	"testing"

	"github.com/croft-sh/croft"
)

// TestCollisionsOfAnAgent: an agent is told what collides with its own work, from its side, and not who the others are:
// those in a round are known by labels at most.
func TestCollisionsOfAnAgent(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*croft.Workspace)
		want   string // what the other one is called
	}{
		"no round": {func(ws *croft.Workspace) { ws.Label = "" }, "theirs"},
		"labels":   {func(ws *croft.Workspace) { ws.Label = "label of " + ws.Name }, "label of "},
		"its own": {func(ws *croft.Workspace) {
			if ws.Label = ""; ws.ID == "mine0000" {
				ws.Label = "mine"
			}
		}, anonymous},
	} {
		t.Run(name, func(t *testing.T) {
			svc := Agent(&altered{recorder: &recorder{}, workspace: test.change, forecast: croft.Forecast{
				Pairs: []croft.Collision{
					{A: "theirs", AID: "other000", B: "mine", BID: "mine0000"},
					{A: "theirs", AID: "other000", B: "third", BID: "third000"},
				},
				Skipped: []croft.Kept{{ID: "other000"}},
			}}, "mine0000")
			got, err := svc.Conflicts(t.Context(), croft.ConflictsRequest{})
			if err != nil || len(got.Pairs) != 1 || len(got.Skipped) > 0 {
				t.Fatalf("%+v, %v", got, err)
			}
			if p := got.Pairs[0]; p.AID != "mine0000" || p.BID != "" || len(p.B) < len(test.want) || p.B[:len(test.want)] != test.want {
				t.Errorf("%+v", p)
			}
		})
	}
}
