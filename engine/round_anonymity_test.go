package engine_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestAnonymity generates sessions and reads everything that an agent can read in its
// checkout, its home, the git directory and its environment. The work under each label is
// the same each time; Croft draws which agent has the label. Every agent of a round, in
// every repetition, must read the same, except for random names: then nothing tells an
// agent which label it has, or which agent did what.
func TestAnonymity(t *testing.T) {
	sessions := 2
	if os.Getenv("CROFT_LONG") != "" {
		sessions = 100
	}
	swapped := 0
	for seed := range sessions {
		mode := []croft.Mode{croft.ModeWorktree, croft.ModeIsolated}[seed%2]
		t.Run(fmt.Sprint(seed, mode), func(t *testing.T) {
			first, was := playMasked(t, uint64(seed), mode)
			second, is := playMasked(t, uint64(seed), mode)
			if was != is {
				swapped++
			}
			for round, views := range first {
				want := views[0]
				for i, got := range append(slices.Clone(views), second[round]...) {
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("round %d: reader %d sees something else than the first:\n%s", round+1, i, diff)
					}
				}
			}
		})
	}
	t.Logf("%d sessions, labels permuted in %d", sessions, swapped)
	if swapped == 0 {
		t.Error("the labels were the same each time")
	}
}

// playMasked plays a session. It returns what each agent reads at the end of each of its
// rounds, and which agent had which label.
func playMasked(t *testing.T, seed uint64, mode croft.Mode) (views [][][]string, labels string) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 3))
	r := gittest.New(t)
	clock := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	e, err := engine.Open(t.Context(), r.Dir, &engine.Options{Environ: r.Env, Now: func() time.Time { return clock }})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	keep := []croft.Retention{croft.RetainOne, croft.RetainAll, "2"}[rnd.IntN(3)]
	ses, err := e.StartSession(t.Context(), croft.SessionRequest{Name: "secret-session", Retention: keep})
	if err != nil {
		t.Fatal(err)
	}
	agents := []string{"opusagent", "codexagent", "geminiagent", "qwenagent"}[:2+rnd.IntN(3)]
	for range 1 + rnd.IntN(2) + 1 {
		round, err := e.StartRound(t.Context(), croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: agents, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		byLabel := slices.SortedFunc(slices.Values(round.Workspaces), func(a, b croft.Workspace) int { return strings.Compare(a.Label, b.Label) })
		for _, w := range byLabel {
			labels += w.Agent + " "
		}
		var read [][]string
		for _, w := range round.Workspaces { // before any agent has written, so that all checkouts are alike
			read = append(read, readable(t, r, w, round.Workspaces))
		}
		views = append(views, read)
		for _, w := range byLabel {
			act(t, r, w, rnd)
		}
		clock = clock.Add(time.Minute)
		if _, err := e.EndRound(t.Context(), croft.EndRoundRequest{Round: round.ID}); err != nil {
			t.Fatal(err)
		}
	}
	return views, labels
}

// act does the work of a label.
func act(t *testing.T, r *gittest.Repo, w croft.Workspace, rnd *rand.Rand) {
	t.Helper()
	for range rnd.IntN(3) {
		gittest.WriteFile(t, filepath.Join(w.Path, fmt.Sprint("file", rnd.IntN(5))), fmt.Sprintln(w.Label, rnd.IntN(100)))
	}
	if rnd.IntN(2) == 0 {
		r.GitIn(w.Path, "add", "--all")
		r.GitIn(w.Path, "commit", "--quiet", "--allow-empty", "-m", "an agent's own commit")
	}
	for range rnd.IntN(3) {
		gittest.WriteFile(t, filepath.Join(w.Scratch, fmt.Sprint("note", rnd.IntN(5))), fmt.Sprintln(w.Label, rnd.IntN(100)))
	}
}

var (
	anOID   = regexp.MustCompile(`\b[0-9a-f]{40}\b`)
	aSealed = regexp.MustCompile(`"sealed":"[A-Za-z0-9+/=]+"`)
	aTime   = regexp.MustCompile(`> [0-9]{10} \+0000\t|"createdAt":"[^"]+"`)
	aBoot   = regexp.MustCompile(`"(boot|maker|verified)":("[^"]*"|\{[^}]*\})`)
	anID    = regexp.MustCompile(`\b[0-9a-z]{16}\b`)
	aStat   = regexp.MustCompile(`":"[0-9]+ [0-9]{19}"`) // size and time of a file
	aHex    = regexp.MustCompile(`croft/[0-9a-f]{8}\b`)
)

// readable lists everything that the agent of a workspace can read. It replaces the agent's
// own random names by self and those of the others by other; all else must be equal.
func readable(t *testing.T, r *gittest.Repo, w croft.Workspace, all []croft.Workspace) []string {
	t.Helper()
	home := w.Env["CROFT_HOME"]
	mask := func(text string) string {
		text = strings.NewReplacer(home, "SELF-HOME", w.Branch, "SELF-BRANCH", string(w.ID), "SELF-ID", filepath.Dir(r.Dir), "TOP").Replace(text)
		for _, o := range all {
			if o.ID != w.ID {
				text = strings.NewReplacer(o.Env["CROFT_HOME"], "OTHER-HOME", o.Branch, "OTHER-BRANCH", string(o.ID), "OTHER-ID").Replace(text)
			}
		}
		for pattern, name := range map[*regexp.Regexp]string{anOID: "OID", aSealed: "SEALED", aTime: "TIME", aBoot: "BOOT", aStat: "STAT"} {
			text = pattern.ReplaceAllString(text, name)
		}
		return aHex.ReplaceAllString(anID.ReplaceAllString(text, "ID"), "croft/HEX")
	}
	var out []string
	add := func(what, text string) {
		lines := strings.FieldsFunc(mask(text), func(c rune) bool { return strings.ContainsRune("\n,{}", c) })
		slices.Sort(lines) // the order of random names is random
		out = append(out, mask(what)+": "+strings.Join(lines, "\n"))
	}
	walk := func(name, top string, times bool) {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (d.Name() == "objects" || d.Name() == ".worktree") {
				return filepath.SkipDir
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			text := info.Mode().String()
			if times {
				text += info.ModTime().UTC().Format(" 15:04:05.000")
			}
			if d.Type().IsRegular() && d.Name() != "index" { // an index contains times of files
				b, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				text += " " + string(b)
			}
			add(name+strings.TrimPrefix(path, top), text)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	walk("archive", filepath.Join(home), exists(filepath.Join(home, ".scratch_archive")))
	walk("checkout", w.Path, false)
	walk("git", filepath.Join(r.Dir, ".git"), false)
	add("environment", strings.Join(w.Environ(), "\n"))
	add("refs", r.GitIn(w.Path, "for-each-ref", "--format=%(refname) %(objecttype)"))
	for line := range strings.Lines(r.GitIn(w.Path, "for-each-ref", "--format=%(refname)")) {
		ref := strings.TrimSpace(line)
		if text := r.GitIn(w.Path, "cat-file", "-p", ref); !strings.HasPrefix(ref, "refs/croft/session/") {
			add("object "+ref, text)
		} else if !strings.HasPrefix(text, "croft sealed") {
			t.Errorf("%s can be read: %s", ref, text)
		}
	}
	add("log", r.GitIn(w.Path, "log", "--all", "--format=%an %ae %at %cn %ce %ct %s%n%b"))
	add("worktrees", r.GitIn(w.Path, "worktree", "list", "--porcelain"))
	slices.Sort(out)
	for _, line := range out {
		for _, secret := range []string{"opusagent", "codexagent", "geminiagent", "qwenagent", "secret-session"} {
			if strings.Contains(line, secret) {
				t.Errorf("%q can be read in %s", secret, line)
			}
		}
		if strings.Contains(line, "SELF") && regexp.MustCompile(`agent[0-9]`).MatchString(line) {
			t.Errorf("a label is told together with the agent's own names: %s", line)
		}
	}
	return out
}
