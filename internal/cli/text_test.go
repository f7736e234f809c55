package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/croft-sh/croft"
)

// TestWithCommands: checks are approved in the project, so the command goes there first.
func TestWithCommands(t *testing.T) {
	ws := fixLogin()
	ws.Next = &croft.Next{Action: croft.ActionApprove, Command: "croft config trust --target main"}
	for dir, want := range map[string]string{
		project:      "croft config trust --target main",
		"/elsewhere": "cd " + project + " && croft config trust --target main",
	} {
		a := &app{env: Env{Dir: dir}}
		if got := a.withCommands([]croft.Workspace{ws})[0].Next.Command; got != want {
			t.Errorf("in %s: %q, want %q", dir, got, want)
		}
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w bytes.Buffer
		a := &app{env: Env{Terminal: TerminalInteractive, Stderr: &w}}
		stop := a.startProgress("making 1 workspace")
		time.Sleep(time.Second) // of the bubble's clock
		synctest.Wait()
		stop()
		if w.Len() > 0 {
			t.Errorf("after one second it shows %q", w.String())
		}

		stop = a.startProgress("making 3 workspaces")
		time.Sleep(2*time.Second + 100*time.Millisecond)
		synctest.Wait()
		stop()
		const line = "making 3 workspaces … "
		const blank = "\r                        \r"
		if want := "\r" + line + "1s\r" + line + "1s\r" + line + "1s\r" + line + "2s" + blank; w.String() != want {
			t.Errorf("got  %q\nwant %q", w.String(), want)
		}
	})
}

// queueOf is a queue that holds one merge.
type queueOf struct{ merge atomic.Pointer[croft.Merge] }

func (q *queueOf) Merges(context.Context, croft.MergesRequest) (*croft.List[croft.Merge], error) {
	return listOf([]croft.Merge{{ID: "other", WorkspaceName: "other", State: croft.MergeQueued}, *q.merge.Load()}, nil)
}

// sharedBuffer is written by one goroutine and read by another.
type sharedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *sharedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *sharedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestMergeProgress: a user who waits for a merge at a terminal reads which check runs and
// for how long, on one line that fits.
func TestMergeProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w sharedBuffer
		a := &app{env: Env{Terminal: TerminalInteractive, Stderr: &w, Width: 40}}
		q, checked := &queueOf{}, croft.Merge{ID: "m", WorkspaceName: "fix-login", State: croft.MergeChecking, Check: "go vet ./..."}
		q.merge.Store(&checked)
		stop := a.startMergeProgress(t.Context(), q, func(m croft.Merge) bool { return m.ID == "m" })
		time.Sleep(2*time.Second + 100*time.Millisecond)
		synctest.Wait()
		if got, want := lastLine(w.String()), "fix-login: checking, go vet ./... … 2s"; got != want {
			t.Errorf("it shows %q, want %q", got, want)
		}
		tested := checked
		tested.Check = "go test ./...\x1b[2J -race -count=1"
		q.merge.Store(&tested)
		time.Sleep(time.Second)
		synctest.Wait()
		if got := lastLine(w.String()); !strings.HasPrefix(got, "fix-login: checking, go test") || utf8.RuneCountInString(got) > 39 || strings.Contains(got, "\x1b") {
			t.Errorf("then it shows %q", got)
		}
		stop()
		if got := lastLine(strings.TrimSuffix(w.String(), "\r")); strings.TrimSpace(got) != "" {
			t.Errorf("at the end it leaves %q", got)
		}
	})
}

// lastLine is the line that a terminal shows after several were written over each other.
func lastLine(text string) string {
	return strings.TrimRight(text[strings.LastIndexByte(text, '\r')+1:], " ")
}

func TestNoProgressWithoutATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, a := range []*app{
			{env: Env{Terminal: TerminalNone}},
			{env: Env{Terminal: TerminalInteractive, IsDumb: true}},
			{env: Env{Terminal: TerminalInteractive}, quiet: true},
			{env: Env{Terminal: TerminalInteractive}, json: true},
		} {
			var w bytes.Buffer
			a.env.Stderr = &w
			stop := a.startProgress("making")
			time.Sleep(5 * time.Second)
			synctest.Wait()
			stop()
			if w.Len() > 0 {
				t.Errorf("%+v shows %q", a.env.Terminal, w.String())
			}
		}
	})
}

func TestParseAge(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"90m": 90 * time.Minute, "24h": day, "7d": 7 * day, "2w": 14 * day, "1h30m": 90 * time.Minute,
		"": 0, "d": 0, "0d": 0, "0s": 0, "-1h": 0, "-3d": 0, "1.5d": 0, "7": 0, "200000d": 0, "99999999999999999999w": 0,
	} {
		got, err := parseAge(text)
		if got != want || (err != nil) != (want == 0) {
			t.Errorf("parseAge(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestAgeOf(t *testing.T) {
	for ago, want := range map[time.Duration]string{
		0: "0s", 59 * time.Second: "59s", time.Minute: "1m", 59 * time.Minute: "59m",
		time.Hour: "1h", 47 * time.Hour: "47h", 48 * time.Hour: "2d", -time.Hour: "0s",
	} {
		if got := ageText(noon, noon.Add(-ago)); got != want {
			t.Errorf("%v ago is %q, want %q", ago, got, want)
		}
	}
	if got := ageText(noon, time.Time{}); got != "-" {
		t.Errorf("an unknown time is %q", got)
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 1234567: "1.2 MB", 5e12: "5.0 TB", 5e18: "5000.0 PB"} {
		if got := sizeText(bytes); got != want {
			t.Errorf("size(%d) = %q, want %q", bytes, got, want)
		}
	}
}

func TestShown(t *testing.T) {
	a := &app{env: Env{Dir: project}}
	for path, want := range map[string]string{
		project + "/sub":     "sub",
		"/home/ann/x":        "../x",
		"/x":                 "/x",
		project + "/a\x1b[m": "a\uFFFD[m",
	} {
		if got := a.shownPath(path); got != want {
			t.Errorf("shown(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestNameOrHash(t *testing.T) {
	for text, want := range map[string]string{
		"0123456789abcdef0123456789abcdef01234567": "0123456",
		"authentication": "authentication",
		"deadbeefcafe":   "deadbeefcafe",
		"a-name-that-is-longer-than-forty-characters": "a-name-that-is-longer-than-forty-characters",
	} {
		if got := nameOrHash(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestAnswersArePrintable: whatever text is in an answer, its JSON has nothing that a
// terminal would act upon, and a reader gets the same text.
func TestAnswersArePrintable(t *testing.T) {
	var every strings.Builder
	for r := range rune(unicode.MaxRune + 1) {
		if utf8.ValidRune(r) {
			every.WriteRune(r)
		}
	}
	type answer struct {
		Text string `json:"text"`
	}
	text, err := MarshalAnswer(answer{every.String()})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range strings.TrimSuffix(string(text), "\n") {
		if !unicode.IsPrint(r) {
			t.Fatalf("byte %d is %U", i, r)
		}
	}
	var got answer
	if err := json.Unmarshal(text, &got); err != nil || got.Text != every.String() {
		t.Errorf("the text was changed: %v", err)
	}
}

// noticing is a Service that has one more notice with every look.
type noticing struct{ notices []string }

func (n *noticing) Notices() []string {
	n.notices = append(n.notices, fmt.Sprintf("notice %d", len(n.notices)))
	return n.notices
}

// TestNoticesOfLongCommands: a command that goes on for long prints each notice when it
// comes, and once.
func TestNoticesOfLongCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w bytes.Buffer
		a, svc := &app{env: Env{Stderr: &w}}, &noticing{}
		ctx, stop := context.WithCancel(t.Context())
		wait := a.tellNoticesWhile(ctx, svc)
		time.Sleep(5*noticeTime/2 + 1)
		synctest.Wait()
		if got := w.String(); got != "note: notice 0\nnote: notice 1\n" {
			t.Errorf("printed meanwhile: %q", got)
		}
		stop()
		wait()
		a.tellNotices(svc)
		if got := w.String(); got != "note: notice 0\nnote: notice 1\nnote: notice 2\n" {
			t.Errorf("printed in all: %q", got)
		}
	})
}

// TestUnprintableNames: a path of a diff and a key of git's configuration that an agent
// chose bring nothing to a terminal that it would act upon.
func TestUnprintableNames(t *testing.T) {
	const name = "a\x1b[31m\u009b2J\u202eb"
	if got, want := patchPath("a/", name), `"a/a\033[31m\302\2332J\342\200\256b"`; got != want {
		t.Errorf("patchPath = %s, want %s", got, want)
	}
	if got := patchPath("a/", "caf\u00e9 x"); got != "a/caf\u00e9 x" {
		t.Errorf("a printable path is quoted: %s", got)
	}
	var w bytes.Buffer
	a := &app{out: &output{w: &w}, env: Env{Stderr: &w}}
	change := croft.GitConfigChange{Key: "filter." + name + ".clean", Now: []string{"x"}}
	a.showGitConfig(&croft.GitConfig{Hash: "h", Changes: []croft.GitConfigChange{change}, Filters: []croft.GitConfigChange{change}, Ignored: []string{name}})
	for _, r := range strings.ReplaceAll(w.String(), "\n", "") {
		if !unicode.IsPrint(r) {
			t.Errorf("%U is printed in %q", r, w.String())
		}
	}
}
