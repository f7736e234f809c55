package cli

import (
	"bufio"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// app is one run of the program: its surroundings and the global flags.
type app struct {
	env   Env
	stdin *bufio.Reader
	out   *output

	json bool

	hasAnswered bool // an object was printed with --json

	readOnly *croft.ReadOnlyState // how a state is read that cannot be written; nil: it can
	plain    bool                 // no colour
	color    colorFlag            // whether there is colour
	quiet    bool
	silent   bool // print nothing, not even errors: for upkeep in the background
	repo     string
	set      []string

	isUnpaged bool   // no pager
	pages     *paged // nil: what is printed goes to the terminal

	told map[string]bool // the notices that were printed

	after []func() // what is done when the command has answered, while its state is closed
}

// dir is the directory that the command is about.
func (a *app) dir() croft.Ref {
	switch kind, path := croft.CutRef(a.repo); kind {
	case croft.RefAny, croft.RefPath:
		return a.absolute(path)
	default:
		return a.repo
	}
}

// absolute makes a path absolute that is relative to the caller's working directory.
func (a *app) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(a.env.Dir, path)
}

// workspaceRef makes a workspace argument absolute if it is a relative path: the Service
// does not know the caller's working directory. Names and IDs stay as they are.
func (a *app) workspaceRef(arg string) string {
	if kind, path := croft.CutRef(arg); kind == croft.RefPath {
		return croft.ByPath(a.absolute(path))
	}
	slashed := filepath.ToSlash(arg)
	if slashed == "." || slashed == ".." || strings.HasPrefix(slashed, "./") || strings.HasPrefix(slashed, "../") {
		return filepath.Join(a.env.Dir, arg)
	}
	return arg
}

func (a *app) workspaceRefs(args []string) []string {
	refs := make([]string, len(args))
	for i, arg := range args {
		refs[i] = a.workspaceRef(arg)
	}
	return refs
}

// optionalRef is the workspace of the first argument. It is empty without one: the
// Service takes the workspace that the caller's directory is in.
func (a *app) optionalRef(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return a.workspaceRef(args[0])
}

func (a *app) workspaceRequest(args []string) croft.WorkspaceRequest {
	return croft.WorkspaceRequest{Repo: a.dir(), Ref: a.optionalRef(args)}
}

// settings are the configuration keys that --set gave.
func (a *app) settings() (map[string]string, error) {
	flags := make(map[string]string, len(a.set))
	for _, setting := range a.set {
		key, value, ok := strings.Cut(setting, "=")
		if !ok || key == "" {
			return nil, &croft.Error{
				Code: croft.InvalidRequest, Op: "parse",
				Message: "--set needs KEY=VALUE, not " + quoted(setting),
				Hint:    a.env.Program + " config",
			}
		}
		flags[key] = value
	}
	return flags, nil
}

func (a *app) open(ctx context.Context) (croft.Service, error) {
	flags, err := a.settings()
	if err != nil {
		return nil, err
	}
	dir := a.dir()
	if kind, _ := croft.CutRef(dir); kind != croft.RefAny {
		dir = a.env.Dir
	}
	svc, err := a.env.Open(ctx, dir, flags)
	if err != nil {
		return nil, croft.AsError("open", err)
	}
	return svc, nil
}

// noticer is a Service with notices for the user that no command asked for.
type noticer interface {
	Notices() []string
}

// reader is a Service that may be one of a process which cannot write the state.
type reader interface {
	ReadOnly() *croft.ReadOnlyState
}

// tellNotices prints the notices of a Service that were not printed yet.
func (a *app) tellNotices(svc any) {
	n, ok := svc.(noticer)
	if !ok {
		return
	}
	for _, notice := range n.Notices() {
		a.tellNotice(notice)
	}
}

// tellNotice prints a notice, once.
func (a *app) tellNotice(notice string) {
	if a.told[notice] {
		return
	}
	if a.told == nil {
		a.told = map[string]bool{}
	}
	a.told[notice] = true
	a.note("note: %s", strings.ReplaceAll(notice, a.env.Dir+string(filepath.Separator), ""))
}

// noticeTime is how often a command that goes on for long looks for notices.
const noticeTime = time.Second

// tellNoticesWhile prints notices as they come, until ctx ends. wait returns when that is
// over.
func (a *app) tellNoticesWhile(ctx context.Context, svc any) (wait func()) {
	var telling sync.WaitGroup
	telling.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(noticeTime):
				a.tellNotices(svc)
			}
		}
	})
	return telling.Wait
}

// serve opens the Service, hands it to use and closes it.
func (a *app) serve(cmd *cobra.Command, use func(ctx context.Context, svc croft.Service) error) (err error) {
	ctx := cmd.Context()
	svc, err := a.open(ctx)
	if err != nil {
		return err
	}
	if r, ok := svc.(reader); ok {
		a.readOnly = r.ReadOnly()
	}
	defer func() {
		a.tellNotices(svc)
		var all sync.WaitGroup
		for _, f := range a.after {
			all.Go(f)
		}
		closeErr := svc.Close()
		all.Wait()
		if err == nil && closeErr != nil {
			err = croft.AsError("close", closeErr)
		}
	}()
	return a.sayOutside(cmd, a.suggestName(ctx, svc, codedError(cmd.Name(), use(ctx, svc))))
}

// isRecordHidden reports whether answers come from git alone, because this process cannot read Croft's record.
func (a *app) isRecordHidden() bool { return a.readOnly != nil && a.readOnly.Source == croft.ReadGit }

// needsRecord returns an error for a question that only Croft's record answers, where this process cannot read it: that
// there is nothing would be a lie.
func (a *app) needsRecord(op string) error {
	if !a.isRecordHidden() {
		return nil
	}
	return &croft.Error{
		Code: croft.StateUnavailable, Op: op, Message: "this process cannot read Croft's record, and git does not know this",
		Hint: "outside of this sandbox it can be asked; in a workspace, .croft.env may tell",
	}
}

// sayOutside has the refusal of a command that must write, where nothing can be written, say
// what to type where it can.
func (a *app) sayOutside(cmd *cobra.Command, err error) error {
	e, ok := errors.AsType[*croft.Error](err)
	if !ok || e.Code != croft.ReadOnly {
		return err
	}
	refused := *e
	refused.Hint = "outside of this sandbox: cd " + shellWord(a.env.Dir) + " && " + a.typed(cmd)
	return &refused
}

// withService makes a command's function: it opens the Service, hands it to use with the
// command's arguments, and closes it.
func (a *app) withService(use func(ctx context.Context, svc croft.Service, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return a.serve(cmd, func(ctx context.Context, svc croft.Service) error { return use(ctx, svc, args) })
	}
}

// codedError keeps an exit status and gives every other error a code.
func codedError(op string, err error) error {
	if _, ok := errors.AsType[statusError](err); ok || err == nil {
		return err
	}
	return croft.AsError(op, err)
}

// configView is the configuration of the project at root.
func (a *app) configView(root string) (ConfigView, error) {
	flags, err := a.settings()
	if err != nil {
		return ConfigView{}, err
	}
	view, err := a.env.Config(root, flags)
	if err != nil {
		return ConfigView{}, croft.AsError("config", err)
	}
	return view, nil
}

// repoFinder is the part of croft.Service that finds the project.
type repoFinder interface {
	Repo(ctx context.Context, req croft.RepoRequest) (*croft.Repo, error)
}

// startUpkeepAfter starts upkeep in the background if it is due. It is never a
// reason for a command to fail.
func (a *app) startUpkeepAfter(ctx context.Context, svc repoFinder) {
	if a.env.AutoGC == nil {
		return
	}
	repo, err := svc.Repo(ctx, croft.RepoRequest{Repo: a.dir()})
	if err != nil {
		return
	}
	a.startUpkeep(repo.Path)
}

func (a *app) startUpkeep(root string) {
	if a.env.AutoGC == nil || a.env.Detach == nil || root == "" || !a.env.AutoGC(root) {
		return
	}
	if err := a.env.Detach("gc", "--auto", "--repo", root); err != nil {
		a.note("upkeep was not started: %v", err)
	}
}

// startFilling fills the pool of a project in the background. It is never a reason for a command to fail.
func (a *app) startFilling(root string) {
	if a.env.FillsPool != nil && a.env.Detach != nil && root != "" && a.env.FillsPool(root) {
		_ = a.env.Detach("pool", "--auto", "--repo", root)
	}
}
