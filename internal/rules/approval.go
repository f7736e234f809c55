package rules

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/actor"
	"github.com/croft-sh/croft/internal/base"
	"github.com/croft-sh/croft/internal/equip"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/workspace"
)

// approval is the content of an approval file, whose name is the hash. It tells a
// person later which commands were approved, and a withdrawal whether they are checks.
type approval struct {
	Checks []string  `json:"checks"`
	Actor  string    `json:"actor"`
	At     time.Time `json:"at"`
}

// ChecksHash returns the hash under which commands are approved. It depends on their order.
func ChecksHash(checks []string) string {
	h := sha256.New()
	for _, c := range checks {
		fmt.Fprintf(h, "%d:%s\n", len(c), c)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// ChecksTrusted reports whether a person has approved these commands for this
// repository, or TrustVariable names their hash and the Service stands in no workspace.
// An empty list needs no approval and has no hash.
func (svc *Rules) ChecksTrusted(ctx context.Context, r *project.Project, checks []string) (hash string, ok bool, err error) {
	if err := ctx.Err(); err != nil || len(checks) == 0 {
		return "", err == nil, err
	}
	hash = ChecksHash(checks)
	if slices.Contains(svc.TrustedByEnviron(ctx), hash) {
		return hash, true, nil
	}
	info, err := os.Lstat(svc.approvalFile(r, hash))
	if errors.Is(err, os.ErrNotExist) {
		return hash, false, nil
	}
	return hash, err == nil && info.Mode().IsRegular(), err
}

// SetupTrusted is ChecksTrusted for the commands that set workspaces up. A check of the same text has another hash: no
// command has the byte in it that the first entry has.
func (svc *Rules) SetupTrusted(ctx context.Context, r *project.Project, commands []string) (hash string, ok bool, err error) {
	if len(commands) > 0 {
		commands = append([]string{"\x00setup"}, commands...)
	}
	return svc.ChecksTrusted(ctx, r, commands)
}

// trusted reports whether the commands of a set are approved.
func (svc *Rules) trusted(ctx context.Context, r *project.Project, of croft.CommandSet, commands []string) (hash string, ok bool, err error) {
	if of == croft.OfSetup {
		return svc.SetupTrusted(ctx, r, commands)
	}
	return svc.ChecksTrusted(ctx, r, commands)
}

// RequireTrusted refuses commands that no person has approved, with ChecksUntrusted.
func (svc *Rules) RequireTrusted(ctx context.Context, r *project.Project, target string, checks []string) error {
	hash, ok, err := svc.ChecksTrusted(ctx, r, checks)
	if err != nil || ok {
		return err
	}
	return &croft.Error{
		Code: croft.ChecksUntrusted, Message: "the target's checks were not approved",
		Details: strings.Join(checks, "\n") + "\n" + TrustVariable + "=" + hash, Hint: approvable{target: target}.trustIn(r.Path),
	}
}

// approvalFile returns the path of the approval of a hash. It is in Croft's own
// directory of the repository, where an agent that is confined to its workspace cannot
// write.
func (svc *Rules) approvalFile(r *project.Project, hash string) string {
	return filepath.Join(svc.DirOf(r.ID), "trust", hash)
}

// approvable are commands that a person can approve: those of a target, or those that set a workspace up.
type approvable struct {
	of        croft.CommandSet
	target    string
	workspace string // its name, of a set-up; then the target does not matter
}

// trustIn returns the command that approves commands in a project.
func (c approvable) trustIn(dir string) string {
	return "cd " + shellword.Quote(dir) + " && " + c.trust()
}

// trust returns the command that approves commands. It names the target, because the project may have another branch
// checked out; a workspace's own commands may be others than those of its target.
func (c approvable) trust() string {
	command := "croft config trust"
	if c.of == croft.OfSetup {
		command += " --setup"
	}
	switch {
	case c.of == croft.OfSetup && c.workspace != "":
		command += " " + shellword.Quote(c.workspace)
	case c.target != "":
		command += " --target " + shellword.Quote(c.target)
	}
	return command
}

func (c approvable) String() string {
	if c.of == croft.OfSetup && c.workspace != "" {
		return fmt.Sprintf("workspace %q", c.workspace)
	}
	return fmt.Sprintf("branch %q", c.target)
}

// ShowChecks returns the checks that the croft.toml at a target's tip names.
func (svc *Rules) ShowChecks(ctx context.Context, req croft.ChecksRequest) (*croft.CheckPlan, error) {
	_, plan, err := svc.checkPlan(ctx, req)
	if err != nil {
		return nil, err
	}
	err = svc.guardApproval(ctx, croft.ApproveRequest{Repo: req.Repo, Target: req.Target, Workspace: req.Workspace, Of: req.Of})
	if err != nil {
		plan.Refusal = croft.AsError("trust", explain.Error("trust", "", err))
	}
	return plan, nil
}

func (svc *Rules) checkPlan(ctx context.Context, req croft.ChecksRequest) (*project.Project, *croft.CheckPlan, error) {
	s, err := svc.LocateGit(ctx, req.Repo)
	if err != nil {
		return nil, nil, err
	}
	plan := &croft.CheckPlan{Target: req.Target, Of: req.Of, Checks: []string{}}
	if req.Workspace != "" {
		if err := svc.planOfWorkspace(ctx, s, req, plan); err != nil {
			return nil, nil, err
		}
		return svc.fillPlan(ctx, s, plan)
	}
	if plan.Target == "" {
		if plan.Target, err = svc.usualTarget(ctx, s); err != nil {
			return nil, nil, err
		}
	}
	if err := layout.CheckBranch(plan.Target); err != nil {
		return nil, nil, err
	}
	plan.Commit, err = s.Git.ReadRef(ctx, "refs/heads/"+plan.Target)
	if errors.Is(err, refs.ErrNoRef) {
		err = &croft.Error{
			Code: croft.BaseNotFound, Message: fmt.Sprintf("there is no branch %q", plan.Target), Hint: "git branch --list",
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return svc.fillPlan(ctx, s, plan)
}

// planOfWorkspace sets the commit of a plan to the one that a workspace began at.
func (svc *Rules) planOfWorkspace(ctx context.Context, s project.Location, req croft.ChecksRequest, plan *croft.CheckPlan) error {
	if req.Of != croft.OfSetup || req.Target != "" {
		return &croft.Error{Code: croft.InvalidRequest, Message: "the commands that set a workspace up are its own: name it, or a target", Hint: "croft config trust --setup NAME"}
	}
	rec, err := svc.Find(ctx, s, req.Workspace)
	if err != nil {
		return err
	}
	plan.Target = rec.Workspace.Target
	plan.Commit, err = equip.CommitOf(ctx, s.Project, rec)
	return err
}

// fillPlan adds the commands of a plan's commit, and whether they are approved.
func (svc *Rules) fillPlan(ctx context.Context, s project.Location, plan *croft.CheckPlan) (*project.Project, *croft.CheckPlan, error) {
	commands, err := svc.commandsAt(ctx, s.Project, plan)
	if err != nil {
		return nil, nil, err
	}
	plan.Checks = append(plan.Checks, commands...)
	plan.Hash, plan.IsApproved, err = svc.trusted(ctx, s.Project, plan.Of, plan.Checks)
	plan.IsNamed = slices.Contains(svc.NamedByEnviron(), plan.Hash)
	if plan.IsApproved && plan.Hash != "" {
		given := svc.readApproval(s.Project, plan.Hash)
		plan.ApprovedBy, plan.ApprovedAt = given.Actor, given.At
	}
	return s.Project, plan, err
}

// commandsAt returns the commands of a plan's set that its commit asks for.
func (svc *Rules) commandsAt(ctx context.Context, r *project.Project, plan *croft.CheckPlan) ([]string, error) {
	if plan.Of != croft.OfSetup {
		rules, err := svc.MergeSettings(ctx, r, plan.Target, plan.Commit)
		return rules.Checks, err
	}
	asked, err := equip.AskedAt(ctx, r, plan.Commit)
	if err == nil {
		err = asked.UnreadableError(plan.Commit)
	}
	return asked.Commands(), err
}

// usualTarget returns the target of the workspace that the caller is in, or the one
// that a new workspace would have.
func (svc *Rules) usualTarget(ctx context.Context, s project.Location) (string, error) {
	if rec, err := svc.Find(ctx, s, ""); err == nil && rec.Workspace.Target != "" {
		return rec.Workspace.Target, nil
	}
	l, err := workspace.LayoutFor(s.Project, croft.CreateRequest{})
	if err != nil {
		return "", err
	}
	st, err := base.StartFor(ctx, s, l, croft.CreateRequest{})
	if err == nil && st.Target == "" {
		err = &croft.Error{Code: croft.InvalidRequest, Message: "no branch is checked out: which target?", Hint: "croft config trust --target BRANCH"}
	}
	return st.Target, err
}

// ApproveChecks allows the checks of a target to run, or withdraws that. It refuses a request without a
// hash (InvalidRequest), one from inside a workspace, and one with another hash than
// that of the checks at the tip (both ChecksUntrusted).
func (svc *Rules) ApproveChecks(ctx context.Context, req croft.ApproveRequest) (*croft.CheckPlan, error) {
	if req.Hash == "" && (req.Mode != croft.ApproveWithdraw || req.Of != croft.OfSetup) {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "the hash of the checks is missing", Hint: "croft config trust"}
	}
	if req.Mode != croft.ApproveGive && req.Mode != croft.ApproveWithdraw {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("no mode of approving is %q", req.Mode)}
	}
	if err := svc.guardApproval(ctx, req); err != nil {
		return nil, err
	}
	s, err := svc.LocateGit(ctx, req.Repo)
	if err != nil {
		return nil, err
	}
	return project.Once(ctx, svc.Projects, project.KeyScope{Repo: s.ID, Verb: "approve"}, req.Key, req, func(ctx context.Context) (*croft.CheckPlan, error) { return svc.approve(ctx, req) })
}

func (svc *Rules) approve(ctx context.Context, req croft.ApproveRequest) (*croft.CheckPlan, error) {
	r, plan, err := svc.checkPlan(ctx, croft.ChecksRequest{Repo: req.Repo, Target: req.Target, Workspace: req.Workspace, Of: req.Of})
	if err == nil && plan.Hash != req.Hash {
		_, name := croft.CutRef(req.Workspace)
		asking := approvable{req.Of, plan.Target, name}
		err = &croft.Error{
			Code: croft.ChecksUntrusted, Message: asking.String() + " asks for other commands by now",
			Details: strings.Join(plan.Checks, "\n"), Hint: asking.trust(),
		}
	}
	if err != nil {
		return nil, err
	}
	if req.Mode == croft.ApproveWithdraw {
		return svc.withdraw(ctx, r, plan)
	}
	if err := svc.WriteApproval(ctx, r, plan); err != nil {
		return nil, err
	}
	plan.IsApproved = true
	done := svc.readApproval(r, plan.Hash)
	plan.ApprovedBy, plan.ApprovedAt = done.Actor, done.At
	waiting, err := svc.waitingFor(ctx, r, plan)
	if err != nil {
		return nil, err
	}
	given := croft.Approval{Kind: croft.ApprovalChecks, Target: plan.Target, Commit: plan.Commit, Hash: plan.Hash, Checks: plan.Checks}
	err = svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		return errors.Join(svc.Note(tx, "trust", r.ID), tx.Approve(r.ID, given), markApproved(tx, waiting, plan.Hash), once.Answer(ctx, tx, plan))
	})
	if err == nil {
		svc.Variables.GiveVariables(ctx, r, waiting)
	}
	return plan, err
}

// waitingFor returns the workspaces whose commands were not run because nobody had approved those of a plan.
func (svc *Rules) waitingFor(ctx context.Context, r *project.Project, plan *croft.CheckPlan) ([]croft.ID, error) {
	if plan.Of != croft.OfSetup {
		return nil, nil
	}
	records, err := svc.Journal.Records(ctx, r.ID)
	var ids []croft.ID
	for _, rec := range records {
		if isWaitingFor(rec, plan.Hash) {
			ids = append(ids, rec.Workspace.ID)
		}
	}
	return ids, err
}

func isWaitingFor(rec journal.Record, hash string) bool {
	p := rec.Workspace.Provision
	return p != nil && hash != "" && p.Hash == hash && (p.State == croft.ProvisionUnapproved || p.State == croft.ProvisionPending)
}

// markApproved records of workspaces that their commands may run, and have not.
func markApproved(tx *journal.Tx, workspaces []croft.ID, hash string) error {
	for _, id := range workspaces {
		rec, err := tx.Record(id)
		if errors.Is(err, journal.ErrNotFound) || err == nil && !isWaitingFor(rec, hash) {
			continue // it was removed or set up meanwhile
		}
		if err != nil {
			return err
		}
		p := *rec.Workspace.Provision
		if p.State, p.Why = croft.ProvisionPending, "its commands are approved, and have not run"; p.WaitsForVariablesOnly() {
			p.State, p.Why = croft.ProvisionReady, ""
		}
		p.Hash, p.Unapproved = "", nil
		p.Steps = slices.Clone(p.Steps)
		for i := range p.Steps {
			if p.Steps[i].State == croft.StepUnapproved {
				p.Steps[i].State = croft.StepPending
			}
		}
		rec.Workspace.Provision = &p
		if err := tx.SaveRecord(&rec); err != nil {
			return err
		}
	}
	return nil
}

// withdraw deletes the approval of the checks of a plan, of a set-up those of all earlier ones, too, and tells of each
// that there was. The file of an approval gets another name first, so that a call which is repeated because the
// process was killed still tells of it.
func (svc *Rules) withdraw(ctx context.Context, r *project.Project, plan *croft.CheckPlan) (*croft.CheckPlan, error) {
	hashes, err := svc.withdrawnWith(r, plan)
	if err != nil {
		return nil, err
	}
	var gone []croft.Approval
	for _, hash := range hashes {
		file := svc.approvalFile(r, hash)
		err := os.Rename(file, file+untold)
		if err == nil {
			err = fsx.SyncAll(filepath.Dir(file))
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		if fsx.IsThere(file + untold) {
			was := readApprovalFile(file + untold)
			gone = append(gone, croft.Approval{Kind: croft.ApprovalChecks, Target: plan.Target, Hash: hash, Checks: was.Checks})
		}
	}
	if err := failpoint.Hit("withdraw.renamed"); err != nil {
		return nil, err
	}
	plan.ApprovedBy, plan.ApprovedAt = "", time.Time{}
	if _, plan.IsApproved, err = svc.trusted(ctx, r, plan.Of, plan.Checks); err != nil {
		return nil, err
	}
	err = svc.Journal.Update(ctx, func(tx *journal.Tx) error { return svc.tellWithdrawn(ctx, tx, r, plan, gone) })
	if err == nil {
		err = failpoint.Hit("withdraw.told")
	}
	if err != nil {
		return nil, err
	}
	for _, a := range gone {
		_ = os.Remove(svc.approvalFile(r, a.Hash) + untold) // if it stays, the next withdrawal is told although nothing was approved
	}
	return plan, nil
}

// untold ends the name of the file of an approval that is being withdrawn.
const untold = ".withdrawn"

// withdrawnWith returns the hashes of the approvals that are withdrawn with that of a plan. Of a set-up these are all
// but those that are of checks by their content.
func (svc *Rules) withdrawnWith(r *project.Project, plan *croft.CheckPlan) ([]string, error) {
	if plan.Of != croft.OfSetup {
		return []string{plan.Hash}, nil
	}
	dir := filepath.Join(svc.DirOf(r.ID), "trust")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var hashes []string
	for _, e := range entries {
		hash := strings.TrimSuffix(e.Name(), untold)
		isChecks := ChecksHash(readApprovalFile(filepath.Join(dir, e.Name())).Checks) == hash
		if !isChecks && !slices.Contains(hashes, hash) {
			hashes = append(hashes, hash)
		}
	}
	return hashes, err
}

// tellWithdrawn tells of the approvals that were withdrawn.
func (svc *Rules) tellWithdrawn(ctx context.Context, tx *journal.Tx, r *project.Project, plan *croft.CheckPlan, gone []croft.Approval) error {
	if len(gone) == 0 {
		return once.Answer(ctx, tx, plan)
	}
	err := svc.Note(tx, "withdraw trust", r.ID)
	for _, a := range gone {
		if a.Hash == plan.Hash {
			a.Commit, a.Checks = plan.Commit, plan.Checks
		}
		err = errors.Join(err, tx.Emit(croft.Event{
			Kind: croft.EventApprovalWithdrawn, Subjects: croft.Subjects{Repo: r.ID, Target: plan.Target}, After: &croft.Nouns{Approval: &a},
		}))
	}
	return errors.Join(err, once.Answer(ctx, tx, plan))
}

// guardApproval refuses an approval that is requested from inside a workspace, where the
// caller may be an agent.
func (svc *Rules) guardApproval(ctx context.Context, req croft.ApproveRequest) error {
	rec, err := svc.WorkspaceAround(ctx, req.From, req.Repo)
	if err != nil || rec == nil {
		return err
	}
	known, err := svc.Journal.Repo(ctx, rec.RepoID)
	if err != nil {
		return err
	}
	wanted := approvable{of: req.Of, target: cmp.Or(req.Target, rec.Workspace.Target)}
	if req.Target == "" { // the workspace that was named, or that the caller stands in
		_, name := croft.CutRef(req.Workspace)
		wanted.workspace = cmp.Or(name, rec.Workspace.Name)
	}
	return &croft.Error{
		Code: croft.ChecksUntrusted, Message: "commands cannot be approved from inside a workspace, where agents work", Details: rec.Workspace.Path,
		Hint: wanted.trustIn(known.Path),
	}
}

// readApproval returns who approved checks, and when. It is empty if that cannot be read, and
// for checks that only TrustVariable names.
func (svc *Rules) readApproval(r *project.Project, hash string) (a approval) {
	a = readApprovalFile(svc.approvalFile(r, hash))
	a.Actor, _ = actor.Cut(a.Actor)
	return a
}

func readApprovalFile(file string) (a approval) {
	const most = 4 << 20
	text, err := fsx.ReadFile(file, most)
	if err != nil || json.Unmarshal(text, &a) != nil {
		return approval{}
	}
	return a
}

// WriteApproval records that a person has approved the commands of a plan. It checks
// neither who calls nor the hash.
func (svc *Rules) WriteApproval(ctx context.Context, r *project.Project, plan *croft.CheckPlan) error {
	file := svc.approvalFile(r, plan.Hash)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	text, err := json.MarshalIndent(approval{plan.Checks, svc.Actor(ctx), svc.Now()}, "", "  ")
	if err != nil {
		return err
	}
	return fsx.WriteDurable(file, append(text, '\n'))
}
