package round

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
)

// drawLabels gives every agent of a round a label: the one that the caller
// chose, or one that nobody in the session had before. Which of the new ones an
// agent gets is drawn, so that its place in the request says nothing.
func drawLabels(ses *journal.Session, req croft.RoundRequest) (map[string]string, error) {
	holders := map[string]string{layout.Fold(presenter): presenter}
	for _, t := range ses.Rounds {
		for _, seat := range t.Workspaces {
			holders[layout.Fold(seat.Label)] = seat.Agent
		}
	}
	out := map[string]string{}
	for agent, label := range req.Labels {
		if err := layout.CheckLabel(label); err != nil {
			return nil, err
		}
		if !slices.Contains(req.Agents, agent) {
			return nil, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("%q is not the label of an agent of the round", label)}
		}
		if holder, taken := holders[layout.Fold(label)]; taken && holder != agent {
			return nil, &croft.Error{
				Code: croft.InvalidRequest, Message: fmt.Sprintf("the label %q is another agent's in this session", label), Hint: "give each agent a label of its own",
			}
		}
		holders[layout.Fold(label)] = agent
		out[agent] = label
	}
	last := 0
	for label := range holders {
		if n, err := strconv.Atoi(strings.TrimPrefix(label, "agent")); err == nil && strings.HasPrefix(label, "agent") {
			last = max(last, n)
		}
	}
	fresh := rand.Perm(len(req.Agents) - len(out))
	for _, agent := range req.Agents {
		if out[agent] == "" {
			out[agent] = fmt.Sprintf("agent%d", last+fresh[0]+1)
			fresh = fresh[1:]
		}
	}
	return out, nil
}
