//go:build linux

package battery

import (
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// slowest is how much longer the next command may take after a kill than after a success.
const slowest = 5

// TestCrash tries every operation with every fault at each of its points: the system calls
// by which Croft's git changes files, Croft's own failpoints, and its transactions. After a
// death the next command has to reach "done" or "never happened"; after a failure the
// caller gets a code.
func TestCrash(t *testing.T) {
	if err := tools(); err != nil {
		t.Fatal(err)
	}
	for _, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			stages := make(chan *stage, runtime.GOMAXPROCS(0))
			for range cap(stages) {
				stages <- newStage(t, sc, t.TempDir())
			}
			for _, f := range faults() {
				crashAt(t, sc, f, stages)
			}
		})
	}
}

// crashAt tries the points of one fault, or a sample of them.
func crashAt(t *testing.T, sc scenario, f fault, stages chan *stage) {
	t.Helper()
	s := <-stages
	s.use(t)
	points := s.p.pointsOf(t, f, s.args)
	stages <- s
	if points == 0 && sc.points != nil && sc.points(f) {
		t.Fatalf("%s: no points", f.name)
	}
	tried := sample(sc.name, points, f)
	c := newCrashes()
	t.Run(f.name, func(t *testing.T) {
		for _, n := range tried {
			t.Run(itoa(n), func(t *testing.T) {
				t.Parallel()
				s := <-stages
				defer func() { stages <- s }()
				s.crash(t, f, n, c)
			})
		}
	})
	report(t, "crash: "+sc.name+", "+f.name, "%d points, %d tried: %s", points, len(tried), c)
}

// manyCalls is the number of croft's own system calls at which it is killed in the full
// form: most operations make some hundred.
const manyCalls = 500

// sample chooses the points that are tried, evenly. The short form tries one: another for every
// operation and fault, and always the same.
func sample(operation string, points int, f fault) []int {
	want := points
	switch {
	case points == 0:
		return nil
	case !isLong():
		return []int{1 + int(crc32.ChecksumIEEE([]byte(operation+f.name)))%points}
	case f.calls:
		want = min(points, manyCalls)
	}
	list := make([]int, want)
	for i := range list {
		list[i] = 1 + (2*i+1)*points/(2*want)
	}
	return list
}

// crashes counts the outcomes of an operation.
type crashes struct {
	mu       sync.Mutex
	outcomes map[string]int
	codes    map[string]int
	ratios   []float64
}

func newCrashes() *crashes { return &crashes{outcomes: map[string]int{}, codes: map[string]int{}} }

func (c *crashes) add(outcome, code string, ratio float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outcomes[outcome]++
	if code != "" {
		c.codes[code]++
	}
	c.ratios = append(c.ratios, ratio)
}

func (c *crashes) String() string {
	if len(c.ratios) == 0 {
		return "nothing to try"
	}
	slices.Sort(c.ratios)
	return fmt.Sprintf("%s; the next command took %.1f times a healthy one (median), %.1f (most)",
		c.told(), c.ratios[len(c.ratios)/2], c.ratios[len(c.ratios)-1])
}

// told lists the outcomes, and the codes of those that failed.
func (c *crashes) told() string {
	if len(c.codes) == 0 {
		return counts(c.outcomes)
	}
	return counts(c.outcomes) + " (" + counts(c.codes) + ")"
}

func counts(m map[string]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%d %s", m[k], k))
	}
	return strings.Join(parts, ", ")
}

// stage is a project in which an operation can be tried repeatedly.
type stage struct {
	scenario
	p        *project
	args     []string
	ids      map[string]string
	template string

	never, done manifest        // the project without and with the operation, after the next command
	healthy     []time.Duration // times of the next command
}

// newStage prepares a scenario in a directory, and records the pictures of a run without a
// fault.
func newStage(t *testing.T, sc scenario, dir string) *stage {
	t.Helper()
	top := filepath.Join(dir, "top")
	mustDo(t, os.Mkdir(top, 0o755))
	s := &stage{scenario: sc, p: newProjectIn(t, top), template: filepath.Join(t.TempDir(), "template")}
	p := s.p
	p.env = append(p.env, "TMPDIR="+p.tmp(), "CROFT_LIMITS_MIN_FREE_BYTES=0", "CROFT_LIMITS_MIN_FREE_INODES=0")
	mustDo(t, os.MkdirAll(p.tmp(), 0o755))
	mustDo(t, os.MkdirAll(filepath.Join(p.state(), "secrets"), 0o700))
	p.plant()
	s.args = sc.prepare(p)
	s.ids = p.look().names(nil)
	p.moves = sc.moves
	p.setTheScene()
	if out, err := exec.CommandContext(bounded(t), "cp", "-a", top, s.template).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	s.use(t)
	s.follow()
	s.never = s.picture()
	s.use(t)
	p.mustCroft(s.args...)
	s.follow()
	s.done = s.picture()
	if cmp.Equal(s.never, s.done) {
		t.Fatalf("croft %v changes nothing", s.args)
	}
	s.measure(t)
	return s
}

// follow runs the next command and records how long it took.
func (s *stage) follow() {
	s.p.t.Helper()
	r := s.p.croft(s.next()...)
	if r.code != 0 {
		s.p.t.Fatalf("croft %v: %v", s.next(), r)
	}
	s.healthy = append(s.healthy, r.took)
}

// measure times the next command after a run without a fault.
func (s *stage) measure(t *testing.T) {
	t.Helper()
	if n := len(s.healthy); n > 12 { // old measurements do not count
		s.healthy = s.healthy[n-12:]
	}
	for range 2 {
		s.use(t)
		s.follow()
		s.use(t)
		s.p.mustCroft(s.args...)
		s.follow()
	}
}

// use restores the project. A copy has other inodes, so the test tells Croft that it is the
// same project.
func (s *stage) use(t *testing.T) {
	t.Helper()
	s.p.t = t
	mustDo(t, os.RemoveAll(s.p.top))
	if out, err := exec.CommandContext(bounded(t), "cp", "-a", s.template, s.p.top).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	if r := s.p.croft("doctor", "--import", "--yes"); r.code != 0 {
		t.Fatalf("croft doctor --import: %v", r)
	}
}

func (s *stage) picture() manifest {
	m := s.p.picture(s.ids)
	if s.ignore != nil {
		maps.DeleteFunc(m, func(k, _ string) bool { return s.ignore(k) })
	}
	return m
}

// crash causes one fault and checks the outcome.
func (s *stage) crash(t *testing.T, f fault, n int, c *crashes) {
	t.Helper()
	ratio, outcome, code, where := 0.0, "", "", ""
	var took []time.Duration
	for range 4 {
		s.use(t)
		var r result
		r, where = s.p.suffer(f, n, s.args)
		if t.Failed() {
			return
		}
		outcome, code = s.judge(t, r, where)
		took = append(took, s.converge(t, outcome, r, where))
		// Other load on the machine makes a command slower at random, what it has to
		// recover does so every time: the shortest time is the cost.
		ratio = float64(slices.Min(took)) / float64(median(s.healthy))
		if ratio <= slowest || !f.kills || t.Failed() {
			break
		}
		s.measure(t) // the machine may have become busy
	}
	if ratio > slowest && f.kills {
		t.Errorf("at %s: the next command took %.1f times a healthy one: %v", where, ratio, took)
	}
	c.add(outcome, code, ratio)
}

// succeeded is the outcome of an operation that succeeded in spite of the fault.
const succeeded = "succeeded all the same"

// judge returns what the caller of the operation was told. A failure must have a code.
func (s *stage) judge(t *testing.T, r result, where string) (outcome, code string) {
	t.Helper()
	if r.code >= 0 {
		code = s.p.answer(r).failure()
		if code == "" && r.code > 0 || code == "INTERNAL" {
			t.Errorf("at %s: no code: %v", where, r)
		}
	}
	switch {
	case where == "":
		return "not reached", code
	case r.code == -1:
		return "killed", code
	case code == "":
		return succeeded, code
	}
	return "failed", code
}

// failure returns the code of a failure.
func (a answer) failure() string {
	for _, k := range a.Kept {
		if k.Name != guarded {
			return string(k.Reason.Code)
		}
	}
	for _, m := range a.Merges {
		switch {
		case m.Reason != "":
			return string(m.Reason)
		case m.Kept != nil: // it was merged, and its workspace could not be removed
			return string(m.Kept.Code)
		}
	}
	return a.code()
}

// converge runs the next command, checks that the operation was done or never happened, and
// returns how long that command took.
func (s *stage) converge(t *testing.T, outcome string, r result, where string) time.Duration {
	t.Helper()
	p := s.p
	if l := p.croft("list"); l.code != 0 {
		t.Errorf("at %s: croft list: %v", where, l)
	}
	next := p.croft(s.next()...)
	if next.code != 0 {
		t.Fatalf("at %s: the next command: %v\nafter: %v", where, next, r)
	}
	now := s.picture()
	isDone, isNever := cmp.Equal(now, s.done), cmp.Equal(now, s.never)
	switch {
	case isDone:
	case outcome == succeeded:
		t.Errorf("at %s: it said that it was done: %s%v", where, difference(s.done, now), r)
	case !isNever && !s.items:
		t.Errorf("at %s: neither done nor never happened, %v\nto never: %s\nto done: %s", where, r, difference(s.never, now), difference(s.done, now))
	}
	d := p.croft("doctor")
	if d.code != 0 && strings.Count(d.stdout, `"code":`) == strings.Count(d.stdout, `"code":"MERGE_INTERRUPTED"`) { // it says what goes on with it
		p.mustCroft("queue", "run")
		isDone = cmp.Equal(s.picture(), s.done)
		d = p.croft("doctor")
	}
	if d.code != 0 {
		t.Errorf("at %s: there is something left to mend: %v", where, d)
	}
	p.requireNoOperation()
	if isDone || t.Failed() {
		return next.took
	}
	if again := p.croft(s.args...); again.code != 0 {
		t.Errorf("at %s: the same again: %v", where, again)
	}
	if diff := difference(s.done, s.picture()); diff != "" {
		t.Errorf("at %s: the same again did something else: %s", where, diff)
	}
	return next.took
}
