package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
)

// shownPaths is how many files of a pair are listed.
const shownPaths = 200

const (
	matrixMost = 60 // workspaces in the matrix; those that collide come first
	pairsMost  = 200
)

// conflictsData is the forecast of a project.
type conflictsData struct {
	Title   string
	Count   int // workspaces
	Target  string
	Names   []string // of the columns, in the suggested order
	Rows    []matrixRow
	Pairs   []conflictPair
	More    int // pairs that are not shown
	Order   []orderItem
	First   []chosenField // that meet nobody and are ready to be merged, for the button
	Skipped []croft.Kept
	Took    croft.Duration
	IsCut   bool
}

// chosenField is the value of a field that selects a workspace.
type chosenField string

type matrixRow struct {
	Number int
	Name   string
	Path   string
	Target *matrixCell
	Cells  []matrixCell
}

// matrixCell is where two workspaces meet.
type matrixCell struct {
	IsSelf bool
	Files  int
	Heat   int // 1 to 3
	Pair   string
	With   string
	Paths  []string
}

type conflictPair struct {
	ID   string
	A, B string
	croft.Collision
	Paths []string
	More  int
}

// orderItem is a workspace in the suggested order, with those before it that it will meet.
type orderItem struct {
	Number int
	Name   string
	Path   string
	Meets  string
	Files  int
	IsRed  bool // it collides with the target already
}

// conflictsPage forecasts the conflicts of a project; for all projects it lists them.
func (d *dashboard) conflictsPage(r *request) (*page, error) {
	if r.Repo == nil {
		if len(r.Repos) == 1 {
			r.Repo = &r.Repos[0]
		} else {
			return d.allConflictsPage(r)
		}
	}
	f, err := d.svc.Conflicts(r.Context(), croft.ConflictsRequest{Repo: r.ref()})
	if err != nil {
		return nil, err
	}
	workspaces, err := d.lists.workspaces(r)
	if err != nil {
		return nil, err
	}
	ids, isReady := map[string]croft.ID{}, map[string]bool{}
	data := &conflictsData{Count: len(f.Order), Target: r.Repo.Branch, Skipped: f.Skipped, Took: f.Effort.Reading + f.Effort.Comparing}
	for i := range workspaces {
		if ws := &workspaces[i]; ws.RepoID == r.Repo.ID {
			ids[ws.Name], isReady[ws.Name] = ws.ID, ws.Status.IsMergeable()
		}
	}
	data.Title = countText(len(f.Pairs), "pair") + " will collide"
	if len(f.Pairs) == 0 {
		data.Title = "Nobody will collide"
	}
	data.fill(r, f, ids, isReady)
	key := *data
	key.Took = 0 // it is another one each time
	return &page{
		Template: "conflicts", Title: "Conflicts", Data: data, Pace: costlyPace,
		Live: []region{{Template: "forecast", Data: data, Key: fmt.Sprintf("%+v", key)}},
	}, nil
}

func (data *conflictsData) fill(r *request, f *croft.Forecast, ids map[string]croft.ID, isReady map[string]bool) {
	between := map[[2]string]*croft.Collision{}
	target := map[string]*croft.Collision{}
	for i := range f.Pairs {
		c := &f.Pairs[i]
		if c.IsTarget {
			target[c.A] = c
		} else {
			between[[2]string{c.A, c.B}], between[[2]string{c.B, c.A}] = c, c
		}
	}
	path := func(name string) string { return workspacePath(r.Repo.ID, ids[name], "") }
	isFirst := true // none of those before meets another
	for i, name := range f.Order {
		o := orderItem{Number: i + 1, Name: name, Path: path(name)}
		var meets []string
		for _, before := range f.Order[:i] {
			if c := between[[2]string{name, before}]; c != nil {
				meets = append(meets, before)
				o.Files += len(c.Paths)
			}
		}
		o.Meets = strings.Join(meets, ", ")
		if c := target[name]; c != nil {
			o.IsRed, o.Meets, o.Files = true, c.B, len(c.Paths)
		}
		data.Order = append(data.Order, o)
		if isFirst = isFirst && o.Meets == ""; isFirst && isReady[name] {
			data.First = append(data.First, chosenField(string(r.Repo.ID)+"/"+string(ids[name])))
		}
	}
	data.addPairs(f)
	data.addMatrix(f, between, target, path)
}

// addPairs lists the pairs, those with most files first.
func (data *conflictsData) addPairs(f *croft.Forecast) {
	pairs := slices.Clone(f.Pairs)
	slices.SortStableFunc(pairs, func(a, b croft.Collision) int { return cmp.Compare(len(b.Paths), len(a.Paths)) })
	data.More = max(0, len(pairs)-pairsMost)
	for _, c := range pairs[:min(len(pairs), pairsMost)] {
		p := conflictPair{ID: pairID(f.Order, &c), A: c.A, B: c.B, Collision: c, Paths: c.Paths[:min(len(c.Paths), shownPaths)]}
		p.More = len(c.Paths) - len(p.Paths)
		data.Pairs = append(data.Pairs, p)
	}
}

// pairID is the id of a pair in the page.
func pairID(order []string, c *croft.Collision) string {
	a, b := slices.Index(order, c.A), slices.Index(order, c.B)
	if c.IsTarget {
		return "p-t-" + strconv.Itoa(a+1)
	}
	return "p-" + strconv.Itoa(min(a, b)+1) + "-" + strconv.Itoa(max(a, b)+1)
}

// addMatrix makes the matrix of those who meet anybody, in the suggested order.
func (data *conflictsData) addMatrix(f *croft.Forecast, between map[[2]string]*croft.Collision, target map[string]*croft.Collision, path func(string) string) {
	isIn := map[string]bool{}
	for _, c := range f.Pairs {
		isIn[c.A] = true
		isIn[c.B] = isIn[c.B] || !c.IsTarget
	}
	var names []string
	numbers := map[string]int{}
	for i, name := range f.Order {
		numbers[name] = i + 1
		if isIn[name] || len(f.Order) <= matrixMost {
			names = append(names, name)
		}
	}
	data.IsCut = len(names) > matrixMost
	data.Names = names[:min(len(names), matrixMost)]
	for _, name := range data.Names {
		row := matrixRow{Number: numbers[name], Name: name, Path: path(name)}
		if c := target[name]; c != nil {
			row.Target = &matrixCell{Files: len(c.Paths), Heat: heatOf(c), Pair: pairID(f.Order, c), With: c.B, Paths: c.Paths[:min(len(c.Paths), 8)]}
		}
		for _, other := range data.Names {
			cell := matrixCell{IsSelf: other == name, With: other}
			if c := between[[2]string{name, other}]; c != nil {
				cell.Files, cell.Heat, cell.Pair, cell.Paths = len(c.Paths), heatOf(c), pairID(f.Order, c), c.Paths[:min(len(c.Paths), 8)]
			}
			row.Cells = append(row.Cells, cell)
		}
		data.Rows = append(data.Rows, row)
	}
}

func heatOf(c *croft.Collision) int {
	switch n := len(c.Paths); {
	case n <= 1:
		return 1
	case n <= 3:
		return 2
	}
	return 3
}

// allConflictsPage lists the projects, with what the last forecasts said.
func (d *dashboard) allConflictsPage(r *request) (*page, error) {
	workspaces, err := d.lists.workspaces(r)
	if err != nil {
		return nil, err
	}
	type row struct {
		Name, Path     string
		All, Colliding int
	}
	var rows []row
	for _, repo := range r.Repos {
		one := row{Name: repo.Name, Path: repoPath(repo.ID, "conflicts")}
		for i := range workspaces {
			if ws := &workspaces[i]; ws.RepoID == repo.ID {
				one.All++
				if len(ws.Collides) > 0 {
					one.Colliding++
				}
			}
		}
		rows = append(rows, one)
	}
	return &page{Template: "allconflicts", Title: "Conflicts", Data: rows, Live: []region{{Template: "forecasts", Data: rows}}}, nil
}
