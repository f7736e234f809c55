package scope

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// inTheWay is a recorder whose target is the branch of another's isolated workspace.
type inTheWay struct{ recorder }

const othersName, othersPath = "secret-name", "/p/repo.croft/secret-name"

func (r *inTheWay) SubmitMerge(ctx, croft.MergeRequest) (*croft.Merge, error) {
	return nil, &croft.Error{Code: croft.BranchInUse, Op: "merge", Message: "main is the branch of the isolated workspace " + othersName, Details: othersPath, Hint: "croft merge " + othersName}
}

func (r *inTheWay) Merge(ctx, croft.GetRequest) (*croft.Merge, error) {
	return &croft.Merge{
		ID: "mine-1", Workspace: "mine0000", State: croft.MergeDone, Status: croft.MergePending, Reason: croft.BranchInUse,
		Message: "main is the branch of the isolated workspace " + othersName, Details: othersPath, Hint: "croft merge " + othersName,
	}, nil
}

func (r *inTheWay) Workspace(c ctx, req croft.WorkspaceRequest) (*croft.Workspace, error) {
	ws, err := r.recorder.Workspace(c, req)
	if err == nil {
		ws.MergeReason, ws.MergeMessage = croft.BranchInUse, "main is the branch of the isolated workspace "+othersName
		ws.Why, ws.Next = ws.MergeMessage, &croft.Next{What: ws.MergeMessage}
	}
	return ws, err
}

// TestInUseNamesNobody: that a target is the branch of another's workspace is told without the
// name and the path of that.
func TestInUseNamesNobody(t *testing.T) {
	svc := Workspace(&inTheWay{}, "mine0000")
	_, err := svc.SubmitMerge(t.Context(), croft.MergeRequest{})
	e, ok := errors.AsType[*croft.Error](err)
	if !ok || e.Code != croft.BranchInUse || e.Message != inUse || strings.Contains(fmt.Sprintf("%+v", *e), othersName) {
		t.Errorf("%+v", err)
	}
	m, err := svc.Merge(t.Context(), croft.GetRequest{Ref: "mine-1"})
	if err != nil || m.Message != inUse || strings.Contains(fmt.Sprintf("%+v", *m), othersName) {
		t.Errorf("%+v, %v", m, err)
	}
	ws, err := svc.Workspace(t.Context(), croft.WorkspaceRequest{})
	if err != nil || ws.MergeMessage != inUse || ws.Why != inUse || ws.Next.What != inUse || strings.Contains(fmt.Sprintf("%+v", *ws), othersName) {
		t.Errorf("%+v, %v", ws, err)
	}
}
