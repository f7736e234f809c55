//go:build unix

package battery

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/croft-sh/croft/internal/fsx"
)

// pattern is what ended workspaces leave: all rows, refs and files of a project in which a
// few were created, worked in and ended by real acts. It is written again and again with other IDs,
// names, commits and directories, because a hundred thousand real ones take a day.
type pattern struct {
	tables map[string]table
	refs   map[string]string // below refs/croft/
	files  map[string]string // small files of the state directory, by their paths, that name a workspace
	trash  []string          // the directories of the trash
	ids    []string          // all IDs in the rows but the repository's
	names  []string          // of the workspaces
	chain  []commit          // the commits that the rows and refs name, parents first
	base   string            // of main, before
	tip    string            // of main, afterwards
}

// extent is what there is in a project before workspaces are created that a pattern is read of.
type extent struct {
	rows map[string]int64 // the last row of each table
	refs map[string]bool
	tip  string
}

func (p *project) extent() extent {
	p.t.Helper()
	m := extent{rows: map[string]int64{}, refs: map[string]bool{}, tip: p.git(p.dir, "rev-parse", "main")}
	p.mustCroft("list") // makes the database
	db := p.openState()
	defer db.Close()
	for name := range endedTables {
		var last int64
		mustDo(p.t, db.QueryRowContext(p.t.Context(), "SELECT coalesce(max(rowid), 0) FROM "+name).Scan(&last))
		m.rows[name] = last
	}
	for _, name := range lines(p.git(p.dir, "for-each-ref", "--format=%(refname)")) {
		m.refs[name] = true
	}
	return m
}

type table struct {
	columns []string
	rows    [][]any
}

type commit struct {
	oid, tree string
	parents   []string
}

// endedTables are the tables whose rows an ended workspace leaves, with their numbering columns,
// which count on.
var endedTables = map[string]string{"workspaces": "", "operations": "seq", "merges": "seq", "events": "cursor", "pins": "", "keys": ""}

// namePrefix begins the names of the workspaces of a pattern, so that they are found in texts.
const namePrefix = "ptn-"

// endSome creates workspaces and ends them in the ways in which agents' work ends: a third is
// merged, a third removed with commits and uncommitted files, a third discarded.
func (p *project) endSome(series string, n int) {
	p.t.Helper()
	for _, how := range []string{"merge", "remove", "discard"} {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("%s%s-%s-%02dx", namePrefix, series, how, i))
		}
		p.mustCroft(append([]string{"new"}, names...)...)
		for _, name := range names {
			dir := filepath.Join(p.workspaces(), name)
			mustDo(p.t, writeFile(filepath.Join(dir, strings.TrimPrefix(name, namePrefix)+".txt"), name+"\n"))
			p.git(dir, "add", "--all")
			p.git(dir, "commit", "--quiet", "--message", name)
			if how == "remove" {
				mustDo(p.t, writeFile(filepath.Join(dir, "uncommitted.txt"), name+"\n"))
			}
		}
		args := map[string][]string{"merge": {"merge"}, "remove": {"remove", "--force"}, "discard": {"discard", "--yes"}}[how]
		p.mustCroft(append(args, names...)...)
	}
}

// collectAll has upkeep go on until nothing more of the trash is left.
func (p *project) collectAll() {
	p.t.Helper()
	env := p.env
	p.env = append(slices.Clip(env), "CROFT_TRASH_MAX_INODES=0", "CROFT_TRASH_NOTICE=0s", "CROFT_TRASH_SAVED_FOR=0s")
	defer func() { p.env = env }()
	for range 6 {
		p.mustCroft("gc")
	}
}

func (p *project) openState() *sql.DB {
	p.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(p.state(), "croft.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)")
	mustDo(p.t, err)
	db.SetMaxOpenConns(1)
	return db
}

// readPattern reads what the workspaces left that were created since then. All of them have
// ended.
func (p *project) readPattern(since extent) *pattern {
	p.t.Helper()
	pt := &pattern{
		tables: map[string]table{}, refs: map[string]string{}, files: map[string]string{},
		base: since.tip, tip: p.git(p.dir, "rev-parse", "main"),
	}
	db := p.openState()
	defer db.Close()
	ids := map[string]bool{}
	for name := range endedTables {
		tab := readTable(p.t, db, name, since.rows[name])
		pt.tables[name] = tab
		for _, row := range tab.rows {
			for i, column := range tab.columns {
				if text, _ := row[i].(string); len(text) == 16 && (column == "id" || column == "act") {
					ids[text] = true
				}
			}
			if name == "workspaces" {
				pt.names = append(pt.names, row[slices.Index(tab.columns, "name")].(string))
			}
		}
	}
	pt.ids = slices.Sorted(maps.Keys(ids))
	for _, line := range lines(p.git(p.dir, "for-each-ref", "--format=%(refname) %(objectname)", "refs/croft/")) {
		if name, oid, _ := strings.Cut(line, " "); !since.refs[name] {
			pt.refs[name] = oid
		}
	}
	pt.readFiles(p)
	pt.readChain(p)
	return pt
}

func readTable(t *testing.T, db *sql.DB, name string, after int64) (tab table) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+name+" WHERE rowid > ? ORDER BY rowid", after)
	mustDo(t, err)
	defer rows.Close()
	tab.columns, err = rows.Columns()
	mustDo(t, err)
	for rows.Next() {
		row, into := make([]any, len(tab.columns)), make([]any, len(tab.columns))
		for i := range row {
			into[i] = &row[i]
		}
		mustDo(t, rows.Scan(into...))
		tab.rows = append(tab.rows, row)
	}
	mustDo(t, rows.Err())
	return tab
}

// readFiles finds the files of the state directory, and the directories of the trash, that
// are of an ended workspace.
func (pt *pattern) readFiles(p *project) {
	p.t.Helper()
	isOf := func(name string) bool {
		return slices.ContainsFunc(pt.ids, func(id string) bool { return strings.Contains(name, id) })
	}
	mustDo(p.t, filepath.WalkDir(filepath.Join(p.state(), "repos"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !isOf(d.Name()) {
			return err
		}
		text, err := os.ReadFile(path)
		pt.files[path] = string(text)
		return err
	}))
	found, err := filepath.Glob(filepath.Join(p.workspaces(), ".trash", "*"))
	mustDo(p.t, err)
	pt.trash = slices.DeleteFunc(found, func(dir string) bool { return !isOf(dir) })
}

// readChain lists the commits that rows and refs name and that the copies have others of.
func (pt *pattern) readChain(p *project) {
	p.t.Helper()
	args := []string{"rev-list", "--topo-order", "--reverse", "--no-commit-header", "--format=%H %T %P", "main", "^" + pt.base}
	for _, line := range lines(p.git(p.dir, append(args, slices.Sorted(maps.Values(pt.refs))...)...)) {
		words := strings.Fields(line)
		pt.chain = append(pt.chain, commit{words[0], words[1], words[2:]})
	}
}

// write writes the pattern n more times, and returns the number of ended workspaces that this made.
// All that was read of the pattern is in p: p is that project, or a copy of it.
func (pt *pattern) write(p *project, n int) int {
	p.t.Helper()
	db := p.openState()
	defer db.Close()
	tip := p.git(p.dir, "rev-parse", "main")
	commits := pt.importCommits(p, tip, n)
	packed := readPacked(p)
	for k := range n {
		swap := pt.swaps(k)
		for from, to := range commits[k] {
			swap = append(swap, from, to)
		}
		swap = append(swap, pt.base, tip)
		tip = commits[k][pt.tip]
		swap = append(swap, pt.copyTrash(p, strings.NewReplacer(swap...))...)
		as := strings.NewReplacer(swap...)
		for path, text := range pt.files {
			mustDo(p.t, os.WriteFile(as.Replace(path), []byte(as.Replace(text)), 0o600))
		}
		for name, oid := range pt.refs {
			packed[as.Replace(name)] = as.Replace(oid)
		}
		pt.insert(p.t, db, as)
	}
	packed["refs/heads/main"] = tip
	writePacked(p, packed)
	p.git(p.dir, "reset", "--quiet", "--hard")
	p.dropCopy()
	return n * len(pt.names)
}

// swaps lists the IDs and names of the pattern, each followed by that in the k-th copy.
func (pt *pattern) swaps(k int) (swap []string) {
	for _, id := range pt.ids {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", id, k))
		swap = append(swap, id, base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").EncodeToString(sum[:10]))
	}
	for _, name := range pt.names {
		swap = append(swap, name, fmt.Sprintf("old-%s%d", strings.TrimPrefix(name, namePrefix), k))
	}
	return swap
}

// importCommits makes the commits of n copies, in a pack, and returns for each copy the commit that
// stands for one of the pattern. The history of main goes on from copy to copy.
func (pt *pattern) importCommits(p *project, tip string, n int) []map[string]string {
	p.t.Helper()
	var b bytes.Buffer
	mark, begins := 0, "from "+tip
	// Before the commits of acts: git looks through all that are newer than a commit.
	begin := 1767323045 - n*len(pt.chain)
	for k := range n {
		marks := map[string]int{}
		for _, c := range pt.chain {
			mark++
			marks[c.oid] = mark
			text := fmt.Sprintf("%s %d\n", c.oid, k)
			fmt.Fprintf(&b, "commit refs/croft/imported\nmark :%d\ncommitter Ada <ada@example.com> %d +0000\ndata %d\n%s", mark, begin+mark, len(text), text)
			for i, parent := range c.parents {
				from := begins
				if m := marks[parent]; m > 0 {
					from = fmt.Sprintf("from :%d", m)
				}
				if i > 0 {
					from = "merge " + strings.TrimPrefix(from, "from ")
				}
				fmt.Fprintln(&b, from)
			}
			fmt.Fprintf(&b, "deleteall\nM 040000 %s \n\n", c.tree)
		}
		begins = fmt.Sprintf("from :%d", marks[pt.tip])
	}
	file := filepath.Join(p.top, "marks")
	cmd := exec.CommandContext(bounded(p.t), "git", "-C", p.dir, "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--force", "--export-marks="+file)
	cmd.Env, cmd.Stdin = p.environ(), &b
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("git fast-import: %v\n%s", err, out)
	}
	p.git(p.dir, "update-ref", "-d", "refs/croft/imported")
	oids := make([]string, mark+1)
	f, err := os.Open(file)
	mustDo(p.t, err)
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var at int
		var oid string
		if _, err := fmt.Sscanf(s.Text(), ":%d %s", &at, &oid); err == nil {
			oids[at] = oid
		}
	}
	out := make([]map[string]string, n)
	for k := range n {
		out[k] = map[string]string{}
		for i, c := range pt.chain {
			out[k][c.oid] = oids[k*len(pt.chain)+i+1]
		}
	}
	return out
}

// copyTrash copies the directories of the trash, and returns their old and new identities.
func (pt *pattern) copyTrash(p *project, as *strings.Replacer) (swap []string) {
	p.t.Helper()
	for _, dir := range pt.trash {
		mustDo(p.t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			to := as.Replace(path)
			if d.IsDir() {
				err = os.Mkdir(to, 0o700)
			} else if text, rerr := os.ReadFile(path); rerr == nil {
				if d.Name() == ".git" || strings.Contains(path, "/admin/") && d.Name() != "index" {
					text = []byte(as.Replace(string(text)))
				}
				err = os.WriteFile(to, text, 0o644)
			} else {
				err = rerr
			}
			return err
		}))
		for _, part := range []string{"", "tree"} {
			was, err := fsx.IdentityOf(filepath.Join(dir, part))
			is, err2 := fsx.IdentityOf(filepath.Join(as.Replace(dir), part))
			mustDo(p.t, errors.Join(err, err2))
			swap = append(swap, string(was), string(is))
		}
	}
	return swap
}

// insert writes the rows of one copy.
func (pt *pattern) insert(t *testing.T, db *sql.DB, as *strings.Replacer) {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	mustDo(t, err)
	var last int64
	mustDo(t, tx.QueryRowContext(t.Context(), "SELECT coalesce(max(published), 0) FROM merges").Scan(&last))
	for name, counts := range endedTables {
		tab := pt.tables[name]
		stmt, err := tx.PrepareContext(t.Context(), fmt.Sprintf("INSERT INTO %s VALUES (?%s)", name, strings.Repeat(", ?", len(tab.columns)-1)))
		mustDo(t, err)
		for _, row := range tab.rows {
			values := slices.Clone(row)
			for i, column := range tab.columns {
				text, isText := values[i].(string)
				switch {
				case column == counts:
					values[i] = nil
				case isText:
					values[i] = as.Replace(text)
				}
			}
			if i := slices.Index(tab.columns, "published"); i >= 0 && values[i].(int64) > 0 {
				was, at := values[i].(int64), slices.Index(tab.columns, "merge")
				last++
				values[i] = last
				values[at] = strings.Replace(values[at].(string), fmt.Sprintf(`"published":%d`, was), fmt.Sprintf(`"published":%d`, last), 1)
			}
			_, err := stmt.ExecContext(t.Context(), values...)
			mustDo(t, err)
		}
		mustDo(t, stmt.Close())
	}
	_, err = tx.ExecContext(t.Context(), "UPDATE lanes SET tip = ?", as.Replace(pt.tip))
	mustDo(t, err)
	mustDo(t, tx.Commit())
}

// readPacked packs all refs, and returns them.
func readPacked(p *project) map[string]string {
	p.t.Helper()
	p.git(p.dir, "pack-refs", "--all")
	packed := map[string]string{}
	for _, line := range lines(p.git(p.dir, "for-each-ref", "--format=%(refname) %(objectname)")) {
		name, oid, _ := strings.Cut(line, " ")
		packed[name] = oid
	}
	return packed
}

// writePacked writes packed-refs as git does.
func writePacked(p *project, packed map[string]string) {
	p.t.Helper()
	var b bytes.Buffer
	b.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
	for _, name := range slices.Sorted(maps.Keys(packed)) {
		fmt.Fprintf(&b, "%s %s\n", packed[name], name)
	}
	mustDo(p.t, os.WriteFile(filepath.Join(p.dir, ".git", "packed-refs"), b.Bytes(), 0o644))
}

// dropCopy deletes the second copy of the state, which lacks the rows that were inserted. The
// next command writes it anew.
func (p *project) dropCopy() {
	p.t.Helper()
	mustDo(p.t, filepath.WalkDir(p.home(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && filepath.Ext(path) == ".log" && filepath.Base(filepath.Dir(path)) == "state" {
			err = os.Remove(path)
		}
		return err
	}))
}
