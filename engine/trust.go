package engine

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
	"unicode"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
)

// trustVariable approves checks for one process, by their hash. Several hashes
// are separated by commas.
const trustVariable = "CROFT_TRUST"

// approval is what is kept of a person's word. Its name is the hash; the rest
// is for whoever wonders later what that was.
type approval struct {
	Checks []string  `json:"checks"`
	Actor  string    `json:"actor"`
	At     time.Time `json:"at"`
}

// checksHash is the name under which commands are approved: another command,
// or another order, has another.
func checksHash(checks []string) string {
	h := sha256.New()
	for _, c := range checks {
		fmt.Fprintf(h, "%d:%s\n", len(c), c)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// checksTrusted reports whether a person has approved these commands for this
// repository. No commands need no approval, and have no hash.
func (e *Engine) checksTrusted(ctx context.Context, r *repo, checks []string) (hash string, ok bool, err error) {
	if err := ctx.Err(); err != nil || len(checks) == 0 {
		return "", err == nil, err
	}
	hash = checksHash(checks)
	if e.namesHash(hash) && !e.isInside(ctx) { // an agent approves nothing
		return hash, true, nil
	}
	info, err := os.Lstat(e.approvalFile(r, hash))
	if errors.Is(err, os.ErrNotExist) {
		return hash, false, nil
	}
	return hash, err == nil && info.Mode().IsRegular(), err
}

// isInside reports whether the engine was opened inside a workspace, or for
// somebody who stands in one.
func (e *Engine) isInside(ctx context.Context) bool {
	rec, err := e.workspaceAround(ctx)
	return err != nil || rec != nil // what cannot be told is refused
}

// namesHash reports whether the environment approves these commands by name.
func (e *Engine) namesHash(hash string) bool {
	return hash != "" && slices.Contains(strings.Split(e.environ(trustVariable), ","), hash)
}

// environ looks a variable of the engine's environment up.
func (e *Engine) environ(name string) string {
	value := ""
	for _, kv := range e.opts.Environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// approvalFile lies in Croft's own directory of the repository, where no agent
// that is confined to its workspace can write. The hash is made here, of hex
// digits alone.
func (e *Engine) approvalFile(r *repo, hash string) string {
	return filepath.Join(e.repoDir(r.id), "trust", hash)
}

// checksUntrusted is the refusal to run commands.
func checksUntrusted(r *repo, target, hash string, checks []string) *croft.Error {
	return &croft.Error{
		Code: croft.ChecksUntrusted, Message: "the target's checks were not approved",
		Details: strings.Join(checks, "\n") + "\n" + trustVariable + "=" + hash, Hint: trustIn(r.path, target),
	}
}

// trustIn is the command that approves the checks of a target. It names the target,
// because the project may have another branch checked out, or none.
func trustIn(project, target string) string {
	if strings.ContainsFunc(project, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+@", r)
	}) {
		project = shellWord(project)
	}
	command := "cd " + project + " && croft config trust"
	if target != "" {
		command += " --target " + target
	}
	return command
}

// showChecks shows the checks that a target's tip asks for.
func (e *Engine) showChecks(ctx context.Context, req croft.ChecksRequest) (*croft.CheckPlan, error) {
	_, plan, err := e.checkPlan(ctx, req)
	if err != nil {
		return nil, err
	}
	err = e.guardApproval(ctx, croft.ApproveRequest{Repo: req.Repo, Target: plan.Target})
	if err != nil {
		plan.Refusal = croft.AsError("trust", explain.Error("trust", "", err))
	}
	return plan, nil
}

func (e *Engine) checkPlan(ctx context.Context, req croft.ChecksRequest) (*repo, *croft.CheckPlan, error) {
	s, err := e.at(ctx, req.Repo)
	if err != nil {
		return nil, nil, err
	}
	plan := &croft.CheckPlan{Target: req.Target, Checks: []string{}}
	if plan.Target == "" {
		if plan.Target, err = e.usualTarget(ctx, s); err != nil {
			return nil, nil, err
		}
	}
	if err := layout.CheckBranch(plan.Target); err != nil {
		return nil, nil, err
	}
	plan.Commit, err = s.git.ReadRef(ctx, "refs/heads/"+plan.Target)
	if errors.Is(err, git.ErrNoRef) {
		err = &croft.Error{
			Code: croft.BaseNotFound, Message: fmt.Sprintf("there is no branch %q", plan.Target), Hint: "git branch --list",
		}
	}
	if err != nil {
		return nil, nil, err
	}
	rules, err := e.rules(ctx, s.repo, plan.Target, plan.Commit)
	if err != nil {
		return nil, nil, err
	}
	plan.Checks = append(plan.Checks, rules.Checks...)
	plan.Hash, plan.IsApproved, err = e.checksTrusted(ctx, s.repo, plan.Checks)
	plan.IsNamed = e.namesHash(plan.Hash)
	return s.repo, plan, err
}

// usualTarget is the target of the workspace that one stands in, or of one that
// would be made.
func (e *Engine) usualTarget(ctx context.Context, s standing) (string, error) {
	if rec, err := e.find(ctx, s, ""); err == nil && rec.Workspace.Target != "" {
		return rec.Workspace.Target, nil
	}
	l, err := layoutFor(s.repo, croft.CreateRequest{})
	if err != nil {
		return "", err
	}
	st, err := e.startFor(ctx, s, l, croft.CreateRequest{})
	if err == nil && st.target == "" {
		err = &croft.Error{Code: croft.InvalidRequest, Message: "no branch is checked out: which target?", Hint: "croft config trust --target BRANCH"}
	}
	return st.target, err
}

// approveChecks allows the checks of a target to run.
func (e *Engine) approveChecks(ctx context.Context, req croft.ApproveRequest) (*croft.CheckPlan, error) {
	if req.Hash == "" {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "the hash of the checks is missing", Hint: "croft config trust"}
	}
	if err := e.guardApproval(ctx, req); err != nil {
		return nil, err
	}
	r, plan, err := e.checkPlan(ctx, croft.ChecksRequest{Repo: req.Repo, Target: req.Target})
	if err == nil && plan.Hash != req.Hash {
		err = &croft.Error{
			Code: croft.ChecksUntrusted, Message: fmt.Sprintf("branch %q asks for other checks by now", plan.Target),
			Details: strings.Join(plan.Checks, "\n"), Hint: "croft config trust --target " + plan.Target,
		}
	}
	if err == nil {
		err = e.writeApproval(r, plan)
	}
	if err == nil {
		err = e.journal.Update(ctx, func(tx *journal.Tx) error { return e.note(tx, "trust", r.id) })
	}
	if err != nil {
		return nil, err
	}
	plan.IsApproved = true
	return plan, nil
}

// guardApproval refuses an approval that is asked for from inside a workspace,
// where whoever asks may be an agent.
func (e *Engine) guardApproval(ctx context.Context, req croft.ApproveRequest) error {
	rec, err := e.workspaceAround(ctx, req.From, req.Repo)
	if err != nil || rec == nil {
		return err
	}
	known, err := e.journal.Repo(ctx, rec.RepoID)
	if err != nil {
		return err
	}
	return &croft.Error{
		Code: croft.ChecksUntrusted, Message: "checks cannot be approved from inside a workspace, where agents work", Details: rec.Workspace.Path,
		Hint: trustIn(known.Path, cmp.Or(req.Target, rec.Workspace.Target)),
	}
}

// workspaceAround finds a workspace that the Service or one of the directories
// lies in, or nil.
func (e *Engine) workspaceAround(ctx context.Context, dirs ...string) (*journal.Record, error) {
	for _, dir := range append(dirs, e.dir, e.opts.From) {
		if dir == "" {
			continue
		}
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(e.dir, dir)
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return nil, err
		}
		rec, err := e.journal.WorkspaceAt(ctx, real)
		if err == nil {
			return &rec, nil
		}
		if !errors.Is(err, journal.ErrNotFound) {
			return nil, err
		}
	}
	return nil, nil
}

func (e *Engine) writeApproval(r *repo, plan *croft.CheckPlan) error {
	file := e.approvalFile(r, plan.Hash)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	text, err := json.MarshalIndent(approval{plan.Checks, e.actor(), e.now()}, "", "  ")
	if err != nil {
		return err
	}
	return fsx.WriteDurable(file, append(text, '\n'))
}
