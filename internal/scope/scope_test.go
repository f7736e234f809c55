package scope

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// The decisions about a call.
const (
	passes = "passes" // as it is
	looks  = "looks"  // if the request changes nothing
	narrow = "narrow" // about the workspace and what belongs to it
	refuse = "refuse"
)

// decisions say for each call of Service what a token for reading and a token of a workspace
// may do with it. A new call fails TestDecisions until it has a row.
var decisions = map[string]struct{ read, workspace string }{
	"AcceptGitConfig":  {refuse, refuse}, // a person's
	"AcceptTarget":     {refuse, refuse}, // a person's
	"Approve":          {refuse, refuse}, // a person's
	"ArchiveScratch":   {refuse, narrow},
	"Branch":           {passes, refuse}, // tells of others' branches
	"ChangeQueue":      {refuse, narrow},
	"CheckLog":         {passes, narrow},
	"CheckRepo":        {passes, narrow},
	"Checks":           {passes, narrow},
	"Clean":            {refuse, refuse},
	"Close":            {narrow, narrow}, // does nothing
	"Commits":          {passes, narrow},
	"Conflicts":        {passes, narrow},
	"CopyRole":         {refuse, narrow},
	"CountActive":      {passes, refuse}, // tells of others
	"Create":           {refuse, refuse},
	"CreateAll":        {refuse, refuse},
	"CreateReview":     {refuse, narrow},
	"Diff":             {passes, narrow},
	"Discard":          {refuse, narrow},
	"Doctor":           {looks, refuse},
	"DriveLanes":       {refuse, refuse}, // runs others' checks
	"EndRound":         {refuse, refuse},
	"EndSession":       {refuse, refuse},
	"Events":           {passes, narrow},
	"File":             {passes, narrow},
	"Finish":           {refuse, narrow},
	"GC":               {refuse, refuse},
	"Pool":             {passes, refuse},
	"ChangePool":       {refuse, refuse},
	"GitConfig":        {passes, refuse}, // values may be secret
	"History":          {passes, narrow},
	"Lanes":            {passes, narrow},
	"Lock":             {refuse, refuse}, // a person's
	"Merge":            {passes, narrow},
	"Merges":           {passes, narrow},
	"Mounts":           {passes, narrow},
	"Operation":        {passes, narrow},
	"PlanCreate":       {passes, refuse},
	"PlanRevert":       {passes, narrow},
	"PlanUndo":         {passes, narrow},
	"Present":          {refuse, refuse},
	"Prompt":           {passes, narrow},
	"Reap":             {refuse, refuse},
	"Release":          {refuse, narrow},
	"Remove":           {refuse, narrow},
	"Renew":            {refuse, narrow},
	"Repo":             {passes, narrow},
	"Repos":            {passes, narrow},
	"Resolve":          {refuse, narrow},
	"Restore":          {refuse, narrow},
	"Review":           {passes, narrow},
	"Role":             {passes, narrow},
	"Round":            {passes, refuse}, // tells who is who
	"Session":          {passes, refuse}, // tells who is who
	"Sessions":         {passes, refuse},
	"Snapshot":         {passes, narrow},
	"Snapshots":        {passes, narrow},
	"StartRound":       {refuse, refuse},
	"StartSession":     {refuse, refuse},
	"Status":           {passes, narrow},
	"SubmitApply":      {refuse, narrow},
	"SubmitMerge":      {refuse, narrow},
	"SubmitMerges":     {refuse, refuse},
	"SubmitRevert":     {refuse, narrow},
	"ResolveRevert":    {refuse, refuse},
	"TakeLease":        {refuse, narrow},
	"Save":             {refuse, narrow},
	"TakeSnapshot":     {refuse, narrow},
	"Trash":            {passes, narrow},
	"Undo":             {refuse, narrow},
	"Uninstall":        {refuse, refuse},
	"Unlock":           {refuse, refuse}, // a person's
	"Adopt":            {refuse, refuse},
	"PlanProvision":    {passes, narrow},
	"Provision":        {refuse, narrow},
	"Push":             {refuse, narrow},
	"RefreshPush":      {refuse, narrow},
	"FetchPullRequest": {refuse, refuse},
	"BeginRun":         {refuse, refuse}, // a person starts and stops agents
	"RecordRun":        {refuse, refuse},
	"StopRun":          {refuse, refuse},
	"RunLog":           {passes, narrow},
	"ReportAgent":      {refuse, narrow},
	"UpdateWorkspace":  {refuse, narrow},
	"WaitMerge":        {passes, narrow},
	"Workspace":        {passes, narrow},
	"Workspaces":       {passes, narrow},
	"Worktrees":        {passes, refuse},
}

// recorder is a Service with two workspaces, "mine0000" and "other000", in the project "repo".
// It knows things of theirs by ID, and records every call with its request.
type recorder struct {
	calls []recorded
}

type recorded struct {
	method string
	req    any
	actor  croft.Actor
}

func (r *recorder) Close() error { panic("the shared Service was closed") }

func (r *recorder) Events(c ctx, req croft.EventsRequest) iter.Seq2[croft.Event, error] {
	r.calls = append(r.calls, recorded{"Events", req, croft.ActorFrom(c)})
	return func(yield func(croft.Event, error) bool) {
		for _, e := range []croft.Event{
			{Kind: "workspace.changed", Subjects: croft.Subjects{Workspace: "other000"}},
			{Kind: "approval.given", After: &croft.Nouns{Approval: &croft.Approval{}}},
			{
				Kind: "merge.pending", Subjects: croft.Subjects{Workspace: "mine0000", Session: "s", Round: "r"},
				After: &croft.Nouns{
					Workspace: &croft.Workspace{ID: "other000"},
					Merge:     &croft.Merge{Workspace: "mine0000", Conflicts: []croft.ConflictedPath{{Path: "f", Against: "other"}}},
					Session:   &croft.Session{ID: "s"}, Snapshot: &croft.Snapshot{Workspace: "other000"}, Lane: &croft.Lane{Target: "secret"},
				},
			},
		} {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// ownerOf tells whose a thing is by the prefix of its ID or of the workspace.
func ownerOf(ref string) croft.ID {
	_, text := croft.CutRef(ref)
	for _, id := range []croft.ID{"mine0000", "other000"} {
		if name := string(id)[:4]; text == string(id) || strings.HasPrefix(text, name[:4]+"-") {
			return id
		}
	}
	return ""
}

// record answers a call. Things are called "mine-…" and "othe-…"; others do not exist.
func record[T any](r *recorder, c ctx, method string, req any) (*T, error) {
	r.calls = append(r.calls, recorded{method, req, croft.ActorFrom(c)})
	out := new(T)
	get := func(code croft.Code, ref string) (croft.ID, error) {
		id := ownerOf(ref)
		if id == "" {
			return "", &croft.Error{Code: code, Op: "x", Message: "the real service does not know it"}
		}
		return id, nil
	}
	var err error
	switch answer := any(out).(type) {
	case *croft.List[croft.Repo]:
		answer.Items = []croft.Repo{{ID: "elsewhere"}, {ID: "repo"}}
	case *croft.Workspace:
		if req, ok := req.(croft.WorkspaceRequest); ok {
			if req.Repo != croft.ByID("repo") {
				return nil, croft.WorktreeNotFound
			}
			var id croft.ID
			if id, err = get(croft.WorktreeNotFound, req.Ref); err == nil {
				*answer = croft.Workspace{
					ID: id, Name: string(id)[:4], RepoID: "repo", Repo: "/p/repo", Path: "/p/repo.croft/" + string(id)[:4], State: croft.Ready, Target: "main",
					Collides: []string{"other"}, Role: "dev",
				}
			}
		}
	case *croft.Merge:
		if req, ok := req.(croft.GetRequest); ok {
			answer.Workspace, err = get(croft.MergeNotFound, req.Ref)
			answer.ID = croft.RefToID(req.Ref)
		}
	case *croft.Snapshot:
		if req, ok := req.(croft.GetRequest); ok {
			answer.Workspace, err = get(croft.SnapshotNotFound, req.Ref)
			answer.ID = croft.RefToID(req.Ref)
		}
	case *croft.Review:
		if req, ok := req.(croft.GetRequest); ok {
			answer.Workspace, err = get(croft.ReviewNotFound, req.Ref)
		}
	case *croft.Operation:
		if req, ok := req.(croft.GetRequest); ok {
			answer.Workspace, err = get(croft.OperationNotFound, req.Ref)
			answer.ActorWorkspace = answer.Workspace
		}
	case *croft.Lease:
		if req, ok := req.(croft.RenewRequest); ok {
			answer.Workspace, err = get(croft.LeaseLost, string(req.Lease))
		}
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// invoke makes a call by its name.
func invoke(t *testing.T, svc croft.Service, method string, req any) (any, error) {
	t.Helper()
	out := reflect.ValueOf(svc).MethodByName(method).Call([]reflect.Value{reflect.ValueOf(t.Context()), reflect.ValueOf(req)})
	if method == "Events" {
		for _, err := range out[0].Interface().(iter.Seq2[croft.Event, error]) {
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	err, _ := reflect.TypeAssert[error](out[1])
	return out[0].Interface(), err
}

func TestDecisions(t *testing.T) {
	methods := map[string]bool{}
	for method := range reflect.TypeFor[croft.Service]().Methods() {
		methods[method.Name] = true
		d, ok := decisions[method.Name]
		if !ok {
			t.Errorf("nobody has decided what a token may do with %s", method.Name)
			continue
		}
		if method.Name == "Close" {
			if err := errors.Join(ReadOnly(&recorder{}).Close(), Workspace(&recorder{}, "mine0000").Close()); err != nil {
				t.Error(err)
			}
			continue
		}
		req := reflect.Zero(method.Type.In(1)).Interface()
		for kind, want := range map[string]string{"read": d.read, "workspace": d.workspace} {
			r := &recorder{}
			svc := ReadOnly(r)
			if kind == "workspace" {
				svc = Workspace(r, "mine0000")
			}
			_, err := invoke(t, svc, method.Name, req)
			reached := slices.ContainsFunc(r.calls, func(c recorded) bool { return c.method == method.Name })
			switch isDenied := errors.Is(err, croft.AccessDenied); {
			case want == refuse && (!isDenied || len(r.calls) > 0):
				t.Errorf("%s of %s: %v, and %d calls reach the Service", kind, method.Name, err, len(r.calls))
			case want == narrow && isDenied:
				t.Errorf("%s of %s: %v", kind, method.Name, err)
			case (want == passes || want == looks) && (!reached || isDenied):
				t.Errorf("%s of %s: %v, reached: %v", kind, method.Name, err, reached)
			}
		}
	}
	for name := range decisions {
		if !methods[name] {
			t.Errorf("Service has no %s", name)
		}
	}
}

func TestReadOnlyDoctor(t *testing.T) {
	for _, req := range []croft.DoctorRequest{{Fix: croft.FixAll}, {Import: croft.ImportAll}, {Key: "k"}} {
		r := &recorder{}
		if _, err := ReadOnly(r).Doctor(t.Context(), req); !errors.Is(err, croft.AccessDenied) || len(r.calls) > 0 {
			t.Errorf("%+v: %v", req, err)
		}
	}
}

func TestUnknownAccessIsRefused(t *testing.T) {
	r := &recorder{}
	for _, access := range []croft.Access{"", "root"} {
		if _, err := New(r).For(access, "mine0000").Repos(t.Context(), croft.ReposRequest{}); !errors.Is(err, croft.AccessDenied) {
			t.Errorf("%q: %v", access, err)
		}
	}
	if len(r.calls) > 0 {
		t.Errorf("%v", r.calls)
	}
}

// TestAccessOfReaders: a token to read makes no change, and reads.
func TestAccessOfReaders(t *testing.T) {
	r := &recorder{}
	svc := New(r).For(croft.AccessRead, "")
	if _, err := svc.Create(t.Context(), croft.CreateRequest{Name: "a"}); !errors.Is(err, croft.AccessDenied) || len(r.calls) > 0 {
		t.Errorf("%v, %v", err, r.calls)
	}
	if _, err := svc.Repos(t.Context(), croft.ReposRequest{}); err != nil || len(r.calls) == 0 {
		t.Errorf("%v, %v", err, r.calls)
	}
}

// fill sets every field of a request by which a thing can be named, one by one, and yields
// each such request.
func fill(req reflect.Type, ref string) []any {
	var all []any
	for i := range req.NumField() {
		f := req.Field(i)
		v := reflect.New(req).Elem()
		switch name := f.Name; {
		case name == "Key" || name == "Message" || name == "Reason" || name == "Page" || name == "Paths" || name == "Path" || name == "Host" || name == "Head" || name == "Object" || name == "Steps":
			continue
		case f.Type == reflect.TypeFor[croft.ID]() || f.Type.Kind() == reflect.String && slices.Contains([]string{"Repo", "Ref", "Workspace", "Target", "Role", "Session"}, name):
			v.Field(i).SetString(ref)
		case f.Type == reflect.TypeFor[[]croft.Ref]():
			v.Field(i).Set(reflect.ValueOf([]croft.Ref{ref}))
		case f.Type == reflect.TypeFor[*croft.Lease]():
			v.Field(i).Set(reflect.ValueOf(&croft.Lease{ID: croft.RefToID(ref), Workspace: "mine0000"}))
		default:
			continue
		}
		all = append(all, v.Interface())
	}
	return all
}

// TestOthersAreNotFound: a request that names another's thing acts on nothing, and is answered
// as one that names a thing that does not exist.
func TestOthersAreNotFound(t *testing.T) {
	// lookups find a thing for the decision whose it is; of lists others' items are left out.
	lookups := []string{"Repos", "Workspace", "Merge", "Snapshot", "Review", "Operation", "Renew", "Workspaces", "Merges", "Events"}
	tried := 0
	for method := range reflect.TypeFor[croft.Service]().Methods() {
		if decisions[method.Name].workspace != narrow || method.Name == "Close" {
			continue
		}
		for _, refs := range [][2]string{
			{"othe-1", "none-1"},
			{"other000", "none0000"},
			{"id:other000", "id:none0000"},
			{"othe", "none"},
			{"name:othe", "name:none"},
			{"/p/repo.croft/othe/x", "/p/repo.croft/none/x"},
			{"/p/repo.croft/mine/../othe", "/p/repo.croft/mine/../none"},
			{"path:/p/repo.croft/othe", "path:/p/repo.croft/none"},
		} {
			theirs, nones := fill(method.Type.In(1), refs[0]), fill(method.Type.In(1), refs[1])
			for i := range theirs {
				answers := [2]string{}
				for side, req := range []any{theirs[i], nones[i]} {
					r := &recorder{}
					got, err := invoke(t, Workspace(r, "mine0000"), method.Name, req)
					answers[side] = strings.ReplaceAll(fmt.Sprintf("%+v %+v", got, croft.AsError("", err)), refs[side], "REF")
					for _, c := range r.calls {
						text := fmt.Sprintf("%+v", c.req)
						if strings.Contains(text, "othe") && !slices.Contains(lookups, c.method) {
							t.Errorf("%s %+v reaches the Service: %s %s", method.Name, req, c.method, text)
						}
						if c.actor.Workspace != "mine0000" {
							t.Errorf("%s: %s is called by %+v", method.Name, c.method, c.actor)
						}
					}
				}
				if g, w := stripPointers(answers[0]), stripPointers(answers[1]); g != w {
					t.Errorf("%s %+v: %s\nbut for what does not exist: %s", method.Name, theirs[i], g, w)
				}
				tried++
			}
		}
	}
	if tried < 300 {
		t.Errorf("only %d requests were tried", tried)
	}
}

// stripPointers takes addresses out of a text.
func stripPointers(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		words[i], _, _ = strings.Cut(w, "0xc0")
	}
	return strings.Join(words, " ")
}

// TestOwnIsFound: what belongs to the workspace is found in each way of naming it, and the
// Service is asked for it by ID.
func TestOwnIsFound(t *testing.T) {
	for _, ref := range []string{"", "mine", "mine0000", "id:mine0000", "name:mine", "/p/repo.croft/mine", "path:/p/repo.croft/mine/deep"} {
		for _, repo := range []string{"", "repo", "id:repo", "/p/repo", "path:/p/repo", "/p/repo.croft/mine/x"} {
			r := &recorder{}
			if _, err := Workspace(r, "mine0000").TakeSnapshot(t.Context(), croft.SnapshotRequest{Repo: repo, Workspace: ref}); err != nil {
				t.Errorf("%q in %q: %v", ref, repo, err)
				continue
			}
			last := r.calls[len(r.calls)-1]
			if got := last.req.(croft.SnapshotRequest); got.Repo != "id:repo" || got.Workspace != "id:mine0000" {
				t.Errorf("%q in %q: %+v", ref, repo, got)
			}
		}
	}
	svc := Workspace(&recorder{}, "mine0000")
	if m, err := svc.Merge(t.Context(), croft.GetRequest{Ref: "mine-1"}); err != nil || m.Workspace != "mine0000" {
		t.Errorf("%+v, %v", m, err)
	}
	if ws, err := svc.Workspace(t.Context(), croft.WorkspaceRequest{}); err != nil || len(ws.Collides) > 0 {
		t.Errorf("%+v, %v", ws, err)
	}
}

// TestRefusedParameters: calls that a workspace has, with what only a person may ask for.
func TestRefusedParameters(t *testing.T) {
	for _, c := range []struct {
		method string
		req    any
	}{
		{"Remove", croft.RemoveRequest{All: croft.ScopeAll}},
		{"Remove", croft.RemoveRequest{Workspaces: []croft.Ref{"mine"}, Mode: croft.RemoveForce}},
		{"Remove", croft.RemoveRequest{Agreed: &croft.Agreed{Workspaces: []croft.ID{"other000"}}}},
		{"Discard", croft.DiscardRequest{All: croft.ScopeAll}},
		{"Discard", croft.DiscardRequest{Workspaces: []croft.Ref{"mine"}, Agreed: &croft.Agreed{}}},
		{"SubmitMerge", croft.MergeRequest{Priority: 1}},
		{"ChangeQueue", croft.QueueRequest{Action: croft.QueueFirst}},
		{"Undo", croft.UndoRequest{Operation: "mine-1", Mode: croft.RemoveForce}},
	} {
		r := &recorder{}
		_, err := invoke(t, Workspace(r, "mine0000"), c.method, c.req)
		if !errors.Is(err, croft.AccessDenied) || slices.ContainsFunc(r.calls, func(got recorded) bool { return got.method == c.method }) {
			t.Errorf("%s %+v: %v", c.method, c.req, err)
		}
	}
}

// TestQueueWithoutMerges: no merge of the workspace's waits, so none is changed; without a
// name the request would mean all.
func TestQueueWithoutMerges(t *testing.T) {
	r := &recorder{}
	res, err := Workspace(r, "mine0000").ChangeQueue(t.Context(), croft.QueueRequest{Action: croft.QueueCancel})
	if err != nil || len(res.Merges) > 0 || slices.ContainsFunc(r.calls, func(c recorded) bool { return c.method == "ChangeQueue" }) {
		t.Errorf("%v, %v, %v", res, err, r.calls)
	}
}

func TestEventsAreNarrowed(t *testing.T) {
	var got []croft.Event
	for e, err := range Workspace(&recorder{}, "mine0000").Events(t.Context(), croft.EventsRequest{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if len(got) != 1 || got[0].Kind != "merge.pending" {
		t.Fatalf("%+v", got)
	}
	e := got[0]
	if e.Session != "" || e.Round != "" || e.After.Workspace != nil || e.After.Session != nil || e.After.Snapshot != nil || e.After.Lane != nil {
		t.Errorf("%+v %+v", e, e.After)
	}
	if e.After.Merge == nil || e.After.Merge.Conflicts[0].Against != "" {
		t.Errorf("%+v", e.After.Merge)
	}
}
