package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft"
)

// The tools of an agent. Their Service finds the workspace of the scope only.

// lookTime is how long status looks at files and commits, and forecastTime how long it waits
// for a forecast.
const (
	lookTime     = croft.Duration(2 * time.Second)
	forecastTime = 3 * time.Second
)

// maxNames is how many paths an answer names at most.
const maxNames = 60

// find finds the workspace that a call is about.
func (c *call) find(ctx context.Context, look croft.Duration) (*croft.Workspace, error) {
	if c.named == "" && c.scope.Kind != KindAgent {
		return nil, &croft.Error{Code: croft.InvalidRequest, Op: "show", Message: "the workspace has to be named", Fields: map[string]string{"field": "workspace"}}
	}
	ws, err := c.Workspace(ctx, croft.WorkspaceRequest{Repo: c.repo(), Ref: c.named, Look: look})
	if err != nil {
		return nil, err
	}
	if c.scope.Repo != "" && ws.RepoID != c.scope.Repo {
		return nil, notFound(c.named)
	}
	return ws, nil
}

func status(ctx context.Context, c *call, _ statusIn) (*statusOut, error) {
	ws, err := c.find(ctx, lookTime)
	if err != nil {
		return nil, err
	}
	b := briefOf(*ws)
	out := &statusOut{ID: b.ID, Name: b.Name, Path: b.Path, Branch: b.Branch, Target: b.Target, State: b.State, Agent: b.Agent, Next: b.Next, Env: map[string]string{}}
	for name, value := range ws.Env {
		if len(out.Env) < maxNames {
			out.Env[cut(name, maxText/4)] = cut(value, maxText/4)
		}
	}
	out.Ports, out.Provision = portsOf(ws.Ports), stepsOf(ws.Provision)
	work, err := c.Status(ctx, croft.StatusRequest{Workspace: ws.ID})
	if err != nil {
		return out, nil // a workspace that is broken has a state, and no work that can be told
	}
	out.Ahead, out.Behind, out.Dirty = work.Ahead, work.Behind, cutEach(work.Paths, maxNames)
	if more := len(work.Paths) - maxNames; more > 0 {
		out.Dirty = append(out.Dirty, fmt.Sprintf("[… and %d more]", more))
	}
	short, cancel := context.WithTimeout(ctx, forecastTime)
	defer cancel()
	if f, err := c.Conflicts(short, croft.ConflictsRequest{Repo: c.repo()}); err == nil {
		out.Overlaps = len(pairsOf(f, ws.ID))
	}
	return out, nil
}

// briefOf describes a workspace in the words of a list.
func briefOf(ws croft.Workspace) brief {
	b := brief{
		ID: string(ws.ID), Name: cut(ws.Name, maxText/4), Path: cut(ws.Path, maxText), Branch: cut(ws.Branch, maxText/4), Target: cut(ws.Target, maxText/4),
		State: string(ws.Status),
	}
	if b.State == "" {
		b.State = string(ws.State)
	}
	if ws.Activity != nil {
		b.Agent = string(ws.Activity.State)
	}
	if ws.Next != nil {
		b.Next = cut(strings.TrimSpace(ws.Next.What+"; "+string(ws.Next.Action)), maxText/4)
	}
	return b
}

func diff(ctx context.Context, c *call, in diffIn) (*diffOut, error) {
	ws, err := c.find(ctx, 0)
	if err != nil {
		return nil, err
	}
	if in.Path != "" {
		return patch(ctx, c, ws, in)
	}
	limit := in.Limit
	if limit == 0 {
		limit = 100
	}
	for {
		work, err := c.Diff(ctx, croft.DiffRequest{Repo: c.repo(), Workspace: croft.ByID(ws.ID), Detail: croft.DetailStat, Page: croft.Page{Limit: limit, After: in.After}})
		if err != nil {
			return nil, err
		}
		out := &diffOut{Next: work.Next}
		for _, f := range work.Files {
			line := object{"path": f.Path, "status": f.Status, "added": f.Added, "deleted": f.Deleted}
			if f.OldPath != "" {
				line["oldPath"] = f.OldPath
			}
			if f.IsBinary {
				line["binary"] = true
			}
			out.Files = append(out.Files, line)
		}
		if fits(out) || limit == 1 {
			return out, nil
		}
		limit /= 2
	}
}

// fits reports whether an answer is short enough.
func fits(answer any) bool {
	b, err := encode(answer)
	return err == nil && len(b) <= maxAnswer
}

// place says where the next part of a patch begins: after which page of files, and at which
// byte of the patch of that page, which has a digest.
type place struct {
	After  string `json:"a,omitempty"`
	Digest string `json:"d,omitempty"`
	At     int    `json:"o,omitempty"`
}

// token returns a place as a text.
func (p place) token() string {
	b, _ := json.Marshal(p) // a struct of texts and numbers
	return base64.RawURLEncoding.EncodeToString(b)
}

func placeOf(token string) (p place, err error) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil || p.At < 0 {
		err = &croft.Error{Code: croft.InvalidRequest, Op: "diff", Message: "after is not the next of an answer", Fields: map[string]string{"field": "after"}}
	}
	return p, err
}

// patch returns a part of the patch of a file, or of all files of a directory.
func patch(ctx context.Context, c *call, ws *croft.Workspace, in diffIn) (*diffOut, error) {
	var at place
	if in.After != "" {
		var err error
		if at, err = placeOf(in.After); err != nil {
			return nil, err
		}
	}
	limit := in.Limit
	if limit == 0 {
		limit = 10
	}
	work, err := c.Diff(ctx, croft.DiffRequest{Repo: c.repo(), Workspace: croft.ByID(ws.ID), Paths: []string{in.Path}, Page: croft.Page{Limit: limit, After: at.After}})
	if err != nil {
		return nil, err
	}
	text := clean(patchText(work.Files))
	sum := sha256.Sum256([]byte(text))
	digest := hex.EncodeToString(sum[:6])
	if at.At > 0 && at.Digest != digest || at.At > len(text) {
		return nil, &croft.Error{Code: croft.CursorExpired, Op: "diff", Message: "the work has changed since the part before", Hint: "ask again without after"}
	}
	part := text[at.At:]
	if len(part) > maxPatch {
		part = part[:maxPatch]
		if end := strings.LastIndexByte(part, '\n'); end > 0 {
			part = part[:end+1]
		}
		part = strings.ToValidUTF8(part, "")
	}
	out := &diffOut{Patch: part}
	switch end := at.At + len(part); {
	case end < len(text):
		out.Next = place{After: at.After, Digest: digest, At: end}.token()
	case work.Next != "":
		out.Next = place{After: work.Next}.token()
	}
	return out, nil
}

// patchText writes files as a patch for reading.
func patchText(files []croft.ReviewFile) string {
	var b strings.Builder
	for _, f := range files {
		old := f.OldPath
		if old == "" {
			old = f.Path
		}
		fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n", old, f.Path)
		switch {
		case f.IsBinary:
			fmt.Fprintf(&b, "(binary, %s)\n", f.Status)
		case len(f.Hunks) == 0:
			fmt.Fprintf(&b, "(%s, %s to %s)\n", f.Status, f.OldMode, f.NewMode)
		}
		for _, h := range f.Hunks {
			fmt.Fprintf(&b, "%s\n%s", h.Header, h.Text)
			if h.Text != "" && !strings.HasSuffix(h.Text, "\n") {
				b.WriteByte('\n')
			}
		}
		if f.IsCut {
			b.WriteString("(cut: the file has more changes than are shown; read it where it lies)\n")
		}
	}
	return b.String()
}

func save(ctx context.Context, c *call, in saveIn) (*saveOut, error) {
	ref, err := c.subject(ctx)
	if err != nil {
		return nil, err
	}
	saved, err := c.Save(ctx, croft.SaveRequest{Key: in.Key, Repo: c.repo(), Workspace: ref, Message: in.Message, Paths: in.Paths})
	if err != nil {
		return nil, err
	}
	return &saveOut{Commit: saved.Commit, Files: saved.Files, HeldBack: cutEach(saved.HeldBack, maxNames)}, nil
}

// subject is the workspace of a change, by its name: a repeated call may come after the
// workspace has gone.
func (c *call) subject(ctx context.Context) (croft.Ref, error) {
	if c.scope.Kind == KindAgent {
		return c.named, nil
	}
	ws, err := c.find(ctx, 0)
	if err != nil {
		return "", err
	}
	return croft.ByID(ws.ID), nil
}

func conflicts(ctx context.Context, c *call, in conflictsIn) (*conflictsOut, error) {
	ws, err := c.find(ctx, 0)
	if err != nil {
		return nil, err
	}
	f, err := c.Conflicts(ctx, croft.ConflictsRequest{Repo: c.repo()})
	if err != nil {
		return nil, err
	}
	out := &conflictsOut{}
	for _, pair := range pairsOf(f, ws.ID) {
		if len(in.Paths) > 0 && !slices.ContainsFunc(pair.Paths, func(p string) bool { return slices.Contains(in.Paths, p) }) {
			continue
		}
		line := object{"with": cut(pair.B, maxText/4), "paths": cutEach(pair.Paths, 20), "target": pair.IsTarget}
		if pair.Reason != "" {
			line["reason"] = pair.Reason
		}
		if len(pair.Paths) > 20 {
			line["more"] = len(pair.Paths) - 20
		}
		if out.Pairs = append(out.Pairs, line); !fits(out) {
			out.Pairs = out.Pairs[:len(out.Pairs)-1]
			break
		}
	}
	return out, nil
}

// pairsOf returns the collisions of one workspace, which is the first of each pair.
func pairsOf(f *croft.Forecast, id croft.ID) []croft.Collision {
	var out []croft.Collision
	for _, pair := range f.Pairs {
		if pair.BID == id {
			pair.A, pair.AID, pair.B, pair.BID = pair.B, pair.BID, pair.A, pair.AID
		}
		if pair.AID == id {
			out = append(out, pair)
		}
	}
	return out
}

func report(ctx context.Context, c *call, in reportIn) (*reportOut, error) {
	ref, err := c.subject(ctx)
	if err != nil {
		return nil, err
	}
	told, err := c.ReportAgent(ctx, croft.ReportRequest{
		Repo: c.repo(), Workspace: ref, State: croft.AgentState(in.State), WaitingFor: croft.AgentNeed(in.WaitingFor), Note: in.Note, Source: "mcp",
	})
	if err != nil {
		return nil, err
	}
	return &reportOut{State: string(told.State)}, nil
}

// submit ends the task of an agent. Work that is only a part of the task is left for a person,
// whatever the layout says.
func submit(ctx context.Context, c *call, in submitIn) (*submitOut, error) {
	ref, err := c.subject(ctx)
	if err != nil {
		return nil, err
	}
	req := croft.FinishRequest{Key: in.Key, Repo: c.repo(), Workspace: ref, Message: in.Summary, Outcome: croft.Succeeded}
	switch in.Outcome {
	case "failed":
		req.Outcome = croft.Failed
	case "partial":
		req.Policy = croft.MergeNever
	}
	m, err := c.Finish(ctx, req)
	if err != nil {
		return nil, err
	}
	out := &submitOut{Next: "a person reviews and merges the work"}
	if m.State != croft.MergeDone {
		c.await(m)
		out.Next = "status tells how the merge went"
	}
	done := mergeAnswer(m)
	out.Merge = &submitted{ID: done.ID, Status: done.Status, Commit: done.Commit, Files: done.Files, Log: done.Log}
	return out, nil
}

func provision(ctx context.Context, c *call, in provisionIn) (*provisionOut, error) {
	ref, err := c.subject(ctx)
	if err != nil {
		return nil, err
	}
	if in.DryRun {
		plan, err := c.PlanProvision(ctx, croft.PlanProvisionRequest{Repo: c.repo(), Workspace: ref})
		if err != nil {
			return nil, err
		}
		return &provisionOut{Steps: stepsOf(&plan.Provision), Unapproved: cutEach(plan.Provision.Unapproved, maxNames)}, nil
	}
	got, err := c.Provision(ctx, croft.ProvisionRequest{Repo: c.repo(), Workspace: ref, Steps: in.Steps})
	if err != nil {
		return nil, err
	}
	return &provisionOut{Steps: stepsOf(got), Unapproved: cutEach(got.Unapproved, maxNames)}, nil
}

// stepsOf describes the steps of a set-up.
func stepsOf(p *croft.Provision) []map[string]any {
	if p == nil {
		return nil
	}
	var out []map[string]any
	for _, step := range p.Steps[:min(len(p.Steps), maxNames)] {
		one := map[string]any{"name": cut(step.Name, maxText/4), "state": string(step.State)}
		if step.Why != "" {
			one["why"] = cut(step.Why, maxText/4)
		}
		if step.Tail != "" && len(out) < 4 {
			one["log"] = tail(step.Tail, maxLog)
		}
		out = append(out, one)
	}
	return out
}

// portsOf returns ports by their names, or by their places among all.
func portsOf(list []croft.Port) map[string]int {
	out := map[string]int{}
	for i, p := range list[:min(len(list), maxNames)] {
		out[cmp.Or(cut(p.Name, maxText/4), strconv.Itoa(i))] = p.Port
	}
	return out
}
