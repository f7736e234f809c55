package croft

import "context"

// Revert submits a revert and waits until it has ended.
func Revert(ctx context.Context, svc Merges, req RevertRequest) (*Merge, error) {
	m, err := svc.SubmitRevert(ctx, req)
	if err != nil {
		return nil, err
	}
	return svc.WaitMerge(ctx, WaitRequest{Merge: m.ID})
}

// Apply submits a part of a review and waits until its merge has ended.
func Apply(ctx context.Context, svc Service, req ApplyRequest) (*Merge, error) {
	m, err := svc.SubmitApply(ctx, req)
	if err != nil {
		return nil, err
	}
	return svc.WaitMerge(ctx, WaitRequest{Merge: m.ID})
}
