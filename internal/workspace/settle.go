package workspace

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout/worktree"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// settlePlan gives a plan its name, branch and path. It runs in the transaction that
// writes the record, so that no two workspaces get the same.
func (svc *Workspaces) settlePlan(tx *journal.Tx, s project.Location, p *plan) error {
	id := project.NewID()
	now := svc.Now()
	w := croft.Workspace{
		ID: id, Name: p.req.Name, Agent: p.req.Agent, Role: p.req.Role, Session: p.req.Session, Label: p.req.Label,
		Mode: p.mode, State: croft.Creating, Layout: p.layout.Name, Base: p.start.OID, BaseRef: p.start.Ref, Target: p.start.Target,
		Host: svc.Host, Repo: s.Path, CreatedAt: now, Round: p.seat.Round, Meta: p.req.Meta,
	}
	w.Actor, w.ActorWorkspace = svc.ActorOfCall(tx.Context())
	if p.note != "" {
		w.Notes = append(w.Notes, p.note)
	}
	var err error
	if w.Name, err = settleName(tx, s.Project, w.Name); err != nil {
		return err
	}
	maker := owner.Self()
	p.record = journal.Record{Workspace: w, RepoID: s.ID, Boot: proc.Here().Boot, Maker: &maker, Carried: p.seat.Carried, TakesBack: p.seat.TakesBack}
	if p.mode == croft.ModeLegacy {
		p.record.Workspace.Path = s.Path
		return nil
	}
	p.record.Admin = worktree.Admin(string(id))
	if s.Git != nil && !svc.IsPlain(s.CommonDir) {
		p.record.Sparse = s.Config.Checkout.Sparse
	}
	return p.settlePlace(tx, s, svc.Settings.Config().DataDir, now.Unix())
}

// refuseID refuses a name that is the ID of a workspace or of a merge: a caller that
// means that one by its ID would get this one.
func refuseID(tx *journal.Tx, name string) error {
	_, err := tx.Record(croft.ID(name))
	if errors.Is(err, journal.ErrNotFound) {
		_, err = tx.Merge(croft.ID(name))
	}
	if errors.Is(err, journal.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return &croft.Error{Code: croft.InvalidName, Workspace: name, Message: fmt.Sprintf("%q is the ID of something else, and no name", name)}
}

func settleName(tx *journal.Tx, r *project.Project, name string) (string, error) {
	if name != "" {
		if err := refuseID(tx, name); err != nil {
			return name, err
		}
		other, err := tx.LiveByName(r.ID, name)
		if errors.Is(err, journal.ErrNotFound) {
			return name, nil
		}
		if err == nil {
			err = &croft.Error{
				Code: croft.WorktreeExists, Workspace: name, Message: "a workspace of that name exists already", Details: other.Workspace.Path, Hint: "croft sh " + shellword.Quote(name),
				Fields: map[string]string{
					"path": other.Workspace.Path, "workspace": string(other.Workspace.ID), "made": other.Workspace.CreatedAt.UTC().Format(time.RFC3339),
				},
			}
		}
		return name, err
	}
	for range 1000 {
		name = layout.Invent(random)
		if _, err := tx.LiveByName(r.ID, name); errors.Is(err, journal.ErrNotFound) {
			return name, nil
		} else if err != nil {
			return "", err
		}
	}
	return "", &croft.Error{Code: croft.InvalidRequest, Message: "no free name was found", Hint: "croft new NAME"}
}

// settleBranch returns the branch that a workspace gets. If the branch with the short
// form of an ID is taken, it tries a longer form.
func (p *plan) settleBranch(tx *journal.Tx, s project.Location, v *layout.Values) (branch string, err error) {
	isFree := func(branch string) (bool, error) {
		_, err := tx.LiveByBranch(s.ID, branch)
		if errors.Is(err, journal.ErrNotFound) {
			return true, nil
		}
		return false, err
	}
	if branch = p.req.Branch; branch != "" {
		free, err := isFree(branch)
		if err == nil && !free {
			err = branchTakenError(s, p.req.Name, branch)
		}
		return branch, err
	}
	first := ""
	for _, v.ShortID = range layout.ShortIDs(v.ID) {
		if branch, err = p.layout.RenderBranch(*v); err != nil {
			return "", err
		}
		if branch == first { // the layout's branch has no ID in it
			break
		}
		first = cmp.Or(first, branch)
		free, err := isFree(branch)
		if err != nil {
			return "", err
		}
		if oid, _ := s.Git.RefSnapshot().Ref("refs/heads/" + branch); free && oid == "" {
			return branch, nil
		}
	}
	v.ShortID = ""
	if free, err := isFree(first); err != nil || !free {
		return "", cmp.Or(err, branchTakenError(s, p.req.Name, first))
	}
	return first, nil // if the branch exists, making its ref fails
}

func (p *plan) settlePlace(tx *journal.Tx, s project.Location, dataDir string, unix int64) error {
	w := &p.record.Workspace
	v := layout.Values{
		RepoPath: s.Path, Repo: cmp.Or(p.seat.DirName, s.Name()), Home: p.req.Home, Name: w.Name, Role: w.Role, Session: w.Session,
		ID: agentID(w), Hex8: project.Hex8(), Unix: unix,
	}
	var err error
	if w.Branch, err = p.settleBranch(tx, s, &v); err != nil {
		return err
	}
	v.Branch = w.Branch
	p.record.OwnsBranch = !p.adopt
	if p.layout.UsesHome() {
		p.record.Home = p.req.Home
	}
	base := p.layout.BaseDir(s.Path, s.Name(), p.req.Home)
	elsewhere, err := p.writableBase(s, base, dataDir)
	if err != nil {
		return err
	}
	home := cmp.Or(elsewhere, base)
	real, err := project.RealBase(s.Project, home)
	if err != nil {
		return err
	}
	place := func(slug string) (string, error) {
		v.Slug = slug
		path, err := p.layout.RenderPath(v)
		if err != nil {
			return path, err
		}
		rel, err := filepath.Rel(base, path)
		return filepath.Join(real, rel), err
	}
	if err := p.settlePath(tx, place); err != nil {
		return err
	}
	p.record.BaseDir = real
	if elsewhere != "" {
		w.Notes = append(w.Notes, fmt.Sprintf("%s cannot be written; the workspace lies in %s", filepath.Dir(base), elsewhere))
	}
	return nil
}

// agentID returns the value of {id}: the caller's name for its agent if it has one,
// else the workspace's name or ID.
func agentID(w *croft.Workspace) string {
	switch {
	case w.Agent != "":
		return w.Agent
	case w.Name != "" && layout.CheckAgent(w.Name) == nil:
		return w.Name
	}
	return string(w.ID)
}

// settlePath chooses a free path. If the layout makes the last component from the name,
// it adds a number to a taken path; otherwise it refuses.
func (p *plan) settlePath(tx *journal.Tx, place func(slug string) (string, error)) error {
	w := &p.record.Workspace
	free := func(path string) (bool, error) {
		if _, err := os.Lstat(path); err == nil {
			return false, nil
		}
		taken, err := tx.IsPathTaken(path)
		return !taken, err
	}
	if !p.layout.UsesSlug() {
		path, err := place("")
		if err != nil {
			return err
		}
		ok, err := free(path)
		if err == nil && !ok {
			err = pathTakenError(w.Name, path)
		}
		w.Path = path
		return err
	}
	path, err := place(layout.Slug(w.Name))
	if err != nil {
		return err
	}
	// If something else lies at the path without a number, it is refused: the caller
	// would look for the workspace there.
	if taken, err := tx.IsPathTaken(path); err != nil || !taken {
		if _, lerr := os.Lstat(path); err == nil && lerr == nil {
			return pathTakenError(w.Name, path)
		}
		w.Slug, w.Path = layout.Slug(w.Name), path
		return err
	}
	var failed error
	w.Slug = layout.UniqueSlug(w.Name, func(slug string) bool {
		path, err := place(slug)
		if err != nil {
			failed = err
			return false
		}
		ok, err := free(path)
		failed = err
		return !ok && err == nil
	})
	if failed != nil {
		return failed
	}
	w.Path, err = place(w.Slug)
	return err
}

func pathTakenError(name, path string) error {
	return &croft.Error{
		Code: croft.WorktreeExists, Workspace: name, Message: "something is already at the path: another name, or a path that is free", Details: path,
		Fields: map[string]string{"path": path},
	}
}

// writableBase returns another base directory if the layout's own cannot be written and
// the layout allows that, and "" if it can be written.
func (p *plan) writableBase(s project.Location, base, dataDir string) (string, error) {
	at := existingAbove(base)
	if info, err := os.Stat(at); err == nil && !info.IsDir() {
		return "", &croft.Error{Code: croft.NotWritable, Message: fmt.Sprintf("%s is not a directory", at)}
	}
	if fsx.IsWritable(at) {
		return "", nil
	}
	if p.layout.Parent == layout.ParentStrict {
		return "", &croft.Error{
			Code: croft.NotWritable, Message: fmt.Sprintf("the directory %s cannot be written", at),
			Hint: "croft new --layout default",
		}
	}
	return dataDirOf(s.Project, dataDir), nil
}

// dataDirOf returns the directory for workspaces of a project that cannot lie beside
// it.
func dataDirOf(r *project.Project, dataDir string) string {
	return filepath.Join(dataDir, r.Name()+"-"+layout.ShortID(string(r.ID)))
}

// existingAbove returns the path if it exists, or else its nearest existing ancestor.
func existingAbove(path string) string {
	for {
		up := filepath.Dir(path)
		if _, err := os.Stat(path); err == nil || up == path {
			return path
		}
		path = up
	}
}

// random draws a number below n.
func random(n int) int {
	v, err := rand.Int(rand.Reader, big.NewInt(int64(n)))
	if err != nil {
		return 0
	}
	return int(v.Int64())
}
