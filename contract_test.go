package croft_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/google/go-cmp/cmp"
)

// TestContract: a client on another machine can make every call. Each takes one request
// and returns one answer, both structs; an answer that is a list has a request that asks
// for a page of it, and an answer of pages says where the next one begins.
func TestContract(t *testing.T) {
	service := reflect.TypeFor[croft.Service]()
	failure := reflect.TypeFor[error]()
	for method := range service.Methods() {
		m := method.Type
		switch method.Name {
		case "Close", "Events": // the end of a Service, and a stream
			continue
		}
		if m.NumIn() != 2 || m.In(0) != reflect.TypeFor[context.Context]() || m.In(1).Kind() != reflect.Struct {
			t.Errorf("%s takes something else than a context and a request: %s", method.Name, m)
			continue
		}
		if m.NumOut() != 2 || m.Out(1) != failure || m.Out(0).Kind() != reflect.Pointer || m.Out(0).Elem().Kind() != reflect.Struct {
			t.Errorf("%s returns something else than an answer and an error: %s", method.Name, m)
			continue
		}
		if !strings.HasSuffix(m.In(1).Name(), "Request") {
			t.Errorf("%s takes a %s, which is not called a request", method.Name, m.In(1))
		}
		answer := m.Out(0).Elem()
		_, isPaged := m.In(1).FieldByName("Page")
		if isList := strings.HasPrefix(answer.Name(), "List["); isList && !isPaged {
			t.Errorf("%s: the answer is a list, and the request asks for no page", method.Name)
		}
		if next, ok := answer.FieldByName("Next"); isPaged && (!ok || next.Type.Kind() != reflect.String) {
			t.Errorf("%s: the request asks for a page, and the answer does not say where the next one begins", method.Name)
		}
		checkFields(t, method.Name, m.In(1), map[reflect.Type]bool{})
		checkFields(t, method.Name, answer, map[reflect.Type]bool{})
	}
}

// withoutKey are the methods whose requests need no Key, with the reason: those that only
// read, and those for which a second call means the same as the first.
var withoutKey = map[string]string{
	"Repo": reads, "Repos": reads, "Pool": reads, "CheckRepo": reads, "Branch": reads, "PlanCreate": reads, "PlanProvision": reads, "Workspaces": reads, "Workspace": reads,
	"Worktrees": reads, "Status": reads, "CountActive": reads, "Role": reads, "Mounts": reads, "Snapshot": reads,
	"Snapshots": reads, "Conflicts": reads, "Trash": reads, "History": reads, "Operation": reads, "PlanUndo": reads,
	"WaitMerge": reads, "Merges": reads, "Lanes": reads, "PlanRevert": reads, "Merge": reads, "CheckLog": reads, "RunLog": reads, "Diff": reads, "Commits": reads, "File": reads, "Review": reads,
	"Session": reads, "Sessions": reads, "Round": reads, "Prompt": reads, "Checks": reads, "GitConfig": reads, "Events": reads,

	"DriveLanes": "merges what was submitted, each under the key of its own request; it adds nothing",
	"Renew":      "only the last renewal counts",
	"Release":    "releasing again succeeds",

	"ReportAgent": "only the last report counts",
	"RecordRun":   "only the last news count, and an end stays",
	"StopRun":     "stopping again changes nothing",
	"ChangePool":  "filling what is full changes nothing",
	"Push":        "pushing the same commit again changes nothing",
	"RefreshPush": "only the last answer counts", "FetchPullRequest": "fetching again changes nothing",
	"Close": "the end of a Service",
}

const reads = "reads"

// TestChangesHaveKeys: every call that changes something can be repeated after a crash.
func TestChangesHaveKeys(t *testing.T) {
	for method := range reflect.TypeFor[croft.Service]().Methods() {
		why, isExempt := withoutKey[method.Name]
		hasKey := false
		if method.Type.NumIn() == 2 {
			field, ok := method.Type.In(1).FieldByName("Key")
			hasKey = ok && field.Type.Kind() == reflect.String && field.Tag.Get("json") == "key,omitempty"
		}
		switch {
		case !hasKey && !isExempt:
			t.Errorf("%s changes something, and its request has no Key", method.Name)
		case hasKey && isExempt && why != reads: // a reader may share the request of a change
			t.Errorf("%s has a Key: it is in withoutKey because of %q", method.Name, why)
		}
	}
	for name := range withoutKey {
		if _, ok := reflect.TypeFor[croft.Service]().MethodByName(name); !ok {
			t.Errorf("withoutKey has %s, which is no method of Service", name)
		}
	}
}

// withoutRevision are the changes that take no IfRevision, with the reason.
var withoutRevision = map[string]string{
	"Create": "makes something", "CreateAll": "makes something", "StartSession": "makes something", "StartRound": "adds to its session",
	"Present": "makes something", "Adopt": "makes something", "Provision": "can be repeated", "CreateReview": "makes something", "TakeLease": "has an epoch", "BeginRun": "a workspace has one at a time",
	"SubmitApply": "names the review, which does not change", "SubmitMerges": "each of its requests can have one", "SubmitRevert": "names the commit of the target", "ResolveRevert": "makes something",
	"Restore": "fails if something is there", "Undo": "names the operation, which is undone once", "EndRound": "can be repeated",
	"AcceptTarget": "names the commit", "Approve": "has a hash", "AcceptGitConfig": "has a hash", "Clean": "has Shown", "Doctor": "fixes what it finds",
	"GC": "collects what is over", "Reap": "removes what is idle", "Uninstall": "has Shown",
}

// TestChangesHaveRevisions: a change of one thing can say what its caller has seen of it.
func TestChangesHaveRevisions(t *testing.T) {
	used := map[string]bool{}
	for method := range reflect.TypeFor[croft.Service]().Methods() {
		if _, reads := withoutKey[method.Name]; reads || method.Type.NumIn() != 2 {
			continue
		}
		field, ok := method.Type.In(1).FieldByName("IfRevision")
		ok = ok && field.Type.Kind() == reflect.Int && field.Tag.Get("json") == "ifRevision,omitempty"
		if why, isExempt := withoutRevision[method.Name]; ok == isExempt {
			t.Errorf("%s: IfRevision %t, exempt: %q", method.Name, ok, why)
		}
		used[method.Name] = true
	}
	for name := range withoutRevision {
		if !used[name] {
			t.Errorf("withoutRevision has %s, which is no change", name)
		}
	}
}

// checkFields fails the test where a type of the contract would lose something in JSON,
// or has a number that nobody can read.
func checkFields(t *testing.T, method string, at reflect.Type, seen map[reflect.Type]bool) {
	if seen[at] {
		return
	}
	seen[at] = true
	switch at.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		checkFields(t, method, at.Elem(), seen)
	case reflect.Struct:
		if at.PkgPath() == "time" {
			return
		}
		for field := range at.Fields() {
			if field.Tag.Get("json") == "-" && field.Type != reflect.TypeFor[error]() {
				t.Errorf("%s: %s.%s is not in JSON", method, at, field.Name)
			}
			if field.Tag.Get("json") == "" && !field.Anonymous {
				t.Errorf("%s: %s.%s has no name in JSON", method, at, field.Name)
			}
			checkFields(t, method, field.Type, seen)
		}
	case reflect.Int64:
		if at.String() == "time.Duration" {
			t.Errorf("%s: a duration is a number of nanoseconds in JSON", method)
		}
	case reflect.Interface, reflect.Func, reflect.Chan:
		if at != reflect.TypeFor[error]() {
			t.Errorf("%s: %s cannot pass a wire", method, at)
		}
	}
}

// TestEventKinds: the list of kinds has every constant, once.
func TestEventKinds(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if ok && strings.HasPrefix(spec.Names[0].Name, "Event") && len(spec.Values) == 1 {
			kind, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Error(err)
			}
			want = append(want, kind)
		}
		return true
	})
	if diff := cmp.Diff(want, croft.EventKinds()); diff != "" || len(want) < 20 {
		t.Errorf("kinds of events (-constants +list):\n%s", diff)
	}
}

// TestUnimplementedCalls: the calls of UnimplementedService are those that are generated
// from Service. With CROFT_UPDATE=1 it writes them.
func TestUnimplementedCalls(t *testing.T) {
	const path = "unimplemented_calls.go"
	var out strings.Builder
	out.WriteString("// Code generated by CROFT_UPDATE=1 go test -run TestUnimplementedCalls; DO NOT EDIT.\n\npackage croft\n\n")
	for method := range reflect.TypeFor[croft.Service]().Methods() {
		if method.Name == "Close" || method.Name == "Events" {
			continue
		}
		answer := strings.NewReplacer("github.com/croft-sh/croft.", "", "croft.", "").Replace(method.Type.Out(0).Elem().String())
		fmt.Fprintf(&out, "func (refusing) %s(ctx, %s) (*%s, error) {\n\treturn no[%s](%q)\n}\n\n", method.Name, method.Type.In(1).Name(), answer, answer, method.Name)
	}
	want, err := format.Source([]byte(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("CROFT_UPDATE") != "" {
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if diff := cmp.Diff(string(want), string(got)); err != nil || diff != "" {
		t.Errorf("%s is not what Service says; CROFT_UPDATE=1 go test -run TestUnimplementedCalls . writes it: %v\n%s", path, err, diff)
	}
}

// TestUnimplementedService: every call is refused with the code.
func TestUnimplementedService(t *testing.T) {
	svc := reflect.ValueOf(croft.UnimplementedService{})
	calls := 0
	for method := range reflect.TypeFor[croft.Service]().Methods() {
		m := svc.MethodByName(method.Name)
		if !m.IsValid() {
			t.Errorf("%s is missing", method.Name)
			continue
		}
		if method.Type.NumIn() != 2 || method.Name == "Events" {
			continue
		}
		out := m.Call([]reflect.Value{reflect.ValueOf(t.Context()), reflect.Zero(method.Type.In(1))})
		err, _ := reflect.TypeAssert[error](out[1])
		e := croft.AsError("", err)
		if err == nil || e.Code != croft.Unsupported || !out[0].IsNil() {
			t.Errorf("%s = %v, %v", method.Name, out[0], err)
		}
		calls++
	}
	if calls < 60 {
		t.Errorf("%d calls were made", calls)
	}
	for _, err := range (croft.UnimplementedService{}).Events(t.Context(), croft.EventsRequest{}) {
		if croft.AsError("", err).Code != croft.Unsupported {
			t.Errorf("Events = %v", err)
		}
	}
}
