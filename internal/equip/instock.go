package equip

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/pool"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/provision"
	"github.com/croft-sh/croft/internal/workspace"
)

// Stock has copies of directories that were made before they were needed. Package pool implements it.
type Stock interface {
	Dirs(r *project.Project, how fsx.Content) []string
	HasUncloned(r *project.Project, dir, workspace string) bool
	TakeCopy(ctx context.Context, r *project.Project, want pool.WantedCopy) ([]provision.Outcome, error)
}

// mostOrders is of how many directories copies are in stock.
const mostOrders = 32

// Copied lists the large directories that a new workspace at a commit would get copies of, in the order in which they come in.
// It follows the same rules as PlaceFiles.
func (svc *Equipment) Copied(ctx context.Context, s project.Location, commit string) ([]pool.Order, error) {
	if !hasSources(s) {
		return nil, nil
	}
	from := fsx.OpenTree(s.Path)
	defer from.Release()
	files := filesOf(ctx, s.Project, commit)
	defer files.of.Close()
	linked, err := linkedNames(s)
	if err != nil {
		return nil, err
	}
	limits := limitsAt(s.Project, s.Path)
	var orders []pool.Order
	add := func(o pool.Order) {
		o.Limits = limits
		if len(o.Names) >= provision.LargeBatch && len(orders) < mostOrders && !slices.ContainsFunc(orders, func(a pool.Order) bool { return a.Dir == o.Dir }) {
			orders = append(orders, o)
		}
	}
	if s.Config.Provision.Include && hasInclude(s.Project) {
		names, err := svc.included(ctx, s.Project)
		if err != nil && !errors.Is(err, croft.ConfigInvalid) {
			return nil, err
		}
		names = slices.DeleteFunc(slices.Clone(names), func(p string) bool { return slices.Contains(linked, topOf(p)) })
		for _, b := range largest(files, names, "") {
			add(pool.Order{Batch: b})
		}
	}
	asked, err := AskedAt(ctx, s.Project, commit)
	if err != nil {
		return nil, err
	}
	own, _ := ownPaths(s.Path, asked.Paths)
	for _, p := range own {
		for _, name := range expandPath(from, p.Path) {
			if slices.Contains(linked, topOf(name)) {
				continue
			}
			o, err := orderOf(ctx, files, from, p, name)
			if err != nil {
				return nil, err
			}
			add(o)
		}
	}
	return orders, nil
}

// topOf is the first part of a path.
func topOf(name string) string {
	top, _, _ := strings.Cut(name, "/")
	return top
}

// linkedNames lists what a new workspace has links to, and therefore no copies of.
func linkedNames(s project.Location) ([]string, error) {
	l, err := workspace.LayoutFor(s.Project, croft.CreateRequest{})
	if err != nil {
		return nil, err
	}
	return provision.Shared(s.Path, slices.Concat(l.Links, s.Config.Checkout.Links))
}

// orderOf returns what is copied for a path of croft.toml; an empty order if nothing is.
func orderOf(ctx context.Context, files commitFiles, from *fsx.Tree, p config.ProvisionPath, name string) (pool.Order, error) {
	none := pool.Order{}
	info, err := from.Lstat(name)
	if err != nil || !info.IsDir() || p.How == string(croft.ProvisionLink) {
		return none, nil
	}
	differing := differingKey(from.ReadFile, func(name string, _ int64) ([]byte, error) { return files.Read(name) }, p.Key)
	if differing != "" && p.Else != "copy" || isInCommit(files, name) {
		return none, nil
	}
	names, size, err := filesBelow(ctx, from, name)
	o := pool.Order{Batch: provision.Batch{Dir: name, Names: names, How: fsx.ContentCopied}}
	if p.How == string(croft.ProvisionClone) && differing == "" {
		o.How = fsx.ContentCloned
		o.OrCopied = isCopiedInstead(p, size, len(names))
	}
	return o, err
}

// isCopiedInstead reports whether a path that cannot be cloned is copied.
func isCopiedInstead(p config.ProvisionPath, size int64, files int) bool {
	return p.Else == "copy" || p.Else == "" && !isTooMuch(size, files)
}

// isInCommit reports whether a commit has something at a path, or that could not be found out.
func isInCommit(files commitFiles, name string) bool {
	_, _, err := files.of.Entry(files.ctx, name)
	return !errors.Is(err, fs.ErrNotExist)
}

// largest divides names into batches of the directories nearest to the top that the commit does not have.
func largest(files commitFiles, names []string, above string) (list []provision.Batch) {
	for len(names) > 0 {
		part, _, isBelow := strings.Cut(strings.TrimPrefix(names[0], above), "/")
		dir := above + part
		n := len(namesBelow(names, dir))
		switch {
		case !isBelow || n < provision.LargeBatch:
		case isInCommit(files, dir):
			list = append(list, largest(files, names[:n], dir+"/")...)
		case names[0] != dir+"/": // a nested repository is no directory of files
			list = append(list, provision.Batch{Dir: dir, Names: names[:n], How: fsx.ContentCopied})
		}
		names = names[max(n, 1):]
	}
	return list
}

// namesBelow returns the part of sorted names that lie below a directory.
func namesBelow(names []string, dir string) []string {
	from, _ := slices.BinarySearch(names, dir+"/")
	to, _ := slices.BinarySearch(names, dir+"0") // what follows the slash
	return names[from:to]
}

// each copies names, or takes the copies of whole directories that are in stock, and yields what became of each, in the
// order of the names. Nothing is taken for a workspace that was handed out: an agent may have been in there.
func (in *placing) each(ctx context.Context, cp *provision.Copier, names []string, how fsx.Content, done *croft.ProvisionedPath) iter.Seq2[provision.Copy, error] {
	if in.isAgain || len(names) < provision.LargeBatch {
		return cp.CopyEach(ctx, names, how)
	}
	dirs := slices.AppendSeq(in.svc.Stock.Dirs(in.r, how), maps.Keys(in.taken))
	slices.Sort(dirs)
	return func(yield func(provision.Copy, error) bool) {
		rest := names
		for _, dir := range slices.Compact(dirs) {
			batch := provision.Batch{Dir: dir, Names: namesBelow(rest, dir), How: how}
			if len(batch.Names) == 0 {
				continue
			}
			at, _ := slices.BinarySearch(rest, batch.Names[0])
			if !yieldAll(cp.CopyEach(ctx, rest[:at], how), yield) || !in.oneDir(ctx, cp, batch, done, yield) {
				return
			}
			rest = rest[at+len(batch.Names):]
		}
		yieldAll(cp.CopyEach(ctx, rest, how), yield)
	}
}

// oneDir takes a copy of a directory from the stock, or copies it. It reports whether others may follow.
func (in *placing) oneDir(ctx context.Context, cp *provision.Copier, b provision.Batch, done *croft.ProvisionedPath, yield func(provision.Copy, error) bool) bool {
	list, isTaken := in.taken[b.Dir]
	if !isTaken {
		var err error
		if list, err = in.take(ctx, cp, b); err != nil {
			yield(provision.Copy{}, err)
			return false
		}
	}
	if list == nil {
		return yieldAll(cp.CopyEach(ctx, b.Names, b.How), yield)
	}
	for _, o := range list {
		err := o.Err()
		if err == nil {
			done.FromPool++
		}
		if !yield(o.Copy, err) {
			return false
		}
	}
	return true
}

func (in *placing) take(ctx context.Context, cp *provision.Copier, b provision.Batch) ([]provision.Outcome, error) {
	into := fsx.Made{Path: in.rec.Workspace.Path, Identity: fsx.Identity(in.rec.Identity)}
	return in.svc.Stock.TakeCopy(ctx, in.r, pool.WantedCopy{Batch: b, Copier: cp, Into: into})
}

// takeUncloned takes the copy of a directory that was to be cloned, if one was made because the file system shares no blocks.
// It is looked for before anything is cloned: links are cloned everywhere, and then the directory is there.
func (in *placing) takeUncloned(ctx context.Context, cp *provision.Copier, o pool.Order) (isTaken bool, err error) {
	if in.isAgain || !o.OrCopied || len(o.Names) < provision.LargeBatch || !in.svc.Stock.HasUncloned(in.r, o.Dir, in.rec.Workspace.Path) {
		return false, nil
	}
	list, err := in.take(ctx, cp, o.Batch)
	if list != nil {
		in.taken = map[string][]provision.Outcome{o.Dir: list}
	}
	return list != nil, err
}

// yieldAll yields what became of names, and reports whether others may follow.
func yieldAll(seq iter.Seq2[provision.Copy, error], yield func(provision.Copy, error) bool) bool {
	for made, err := range seq {
		_, isSkip := errors.AsType[*provision.SkipError](err)
		if !yield(made, err) || err != nil && !isSkip {
			return false
		}
	}
	return true
}
