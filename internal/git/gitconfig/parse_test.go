package gitconfig

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// configTexts are configuration files with every part of git's syntax.
var configTexts = []string{
	"",
	"[core]\n\tbare = true\n",
	"\xef\xbb\xbf[a]\nb=c",
	"[a]b\n",
	"[a]\n\tb = c # d\n\te = \"c # d\" ; f\n",
	"[a \"Sub \\\"x\\\" \\\\ \\y.Z\"]\n\tKeY-1 = v\n",
	"[A.Sub.X]\nk=v\n[a]\nk=w\n[a.]\nk=x\n[.a]\nk=y\n[]\nk=z\n",
	"[a]\nk = one \\\n two\\\nthree\nl = x\\\n",
	"[a]\nk = \\t\\n\\b\\\\\\\"\nl =   lead and  trail   \nm = \"  kept  \"\nn = a\"b c\"d\n",
	"[a]\r\nk = v\r\nl = \"x\r\"\r\nm\r\n",
	"[a]\nk\n[b]\nk=\n",
	"[include]\n\tpath = other\n[includeIf \"gitdir:~/x/\"]\n\tpath = ../x\n",
	"[filter \"e.v.IL\"]\n\tclean = run %f\n",
	// Invalid syntax.
	"[a", "[a b]\n", "[a \"b]\n", "[a \"b\" ]\n", "k = v\n[a]\n", "[a]\n1 = v\n", "[a]\nk v\n", "[a]\nk ; c\n", "[a]\nk = \"x\n", "[a]\nk = \\q\n",
	"[a]\n= v\n", "]\n", "[a_b]\nk=v\n", "[a \"b\nc\"]\nk=v\n", "[a]\nk_1 = v\n", "[a]\nk =\\",
}

// gitReads returns git's own reading of a file, and whether git accepts it.
func gitReads(t *testing.T, r *gittest.Repo, text string) (string, bool) {
	t.Helper()
	file := filepath.Join(r.Home, "parsed")
	gittest.WriteFile(t, file, text)
	out, err := r.TryGit(r.Home, "config", "--file", file, "--no-includes", "--list", "-z")
	return out, err == nil
}

// printed returns the result of parseConfig, as git prints it.
func printed(entries []Entry) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.Key)
		if !e.Bare {
			b.WriteString("\n" + e.Value)
		}
		b.WriteByte(0)
	}
	return b.String()
}

// compareConfig checks that a text is parsed as git does. Newer versions of git keep tabs
// between words, older ones make them spaces.
func compareConfig(t *testing.T, r *gittest.Repo, text string) {
	t.Helper()
	want, ok := gitReads(t, r, text)
	entries, err := Parse([]byte(text))
	got := printed(entries)
	same := strings.NewReplacer("\t", " ", "\r", " ")
	if ok != (err == nil) || ok && same.Replace(strings.TrimSpace(got)) != same.Replace(strings.TrimSpace(want)) {
		t.Errorf("%q\n got %q, %v\nwant %q, %v", text, got, err, want, ok)
	}
}

func TestConfigIsParsedAsGitDoes(t *testing.T) {
	r := gittest.New(t)
	for _, text := range configTexts {
		compareConfig(t, r, text)
	}
	// Texts made of syntactic pieces, in any order.
	pieces := strings.Split(`[|]|"|\|=|#|;|.| |x|Y|-|1|_|[a]|[a "b"]|k = v|k|\t|\n|\"|\\|filter|é`, "|")
	pieces = append(pieces, "\n", "\n", "\r\n", "\t", "\\\n", "[core]\n", "k = v\n", "\r")
	random := rand.New(rand.NewPCG(1, 2))
	for range 150 {
		var b strings.Builder
		if random.IntN(3) > 0 {
			b.WriteString("[s]\n")
		}
		for range 1 + random.IntN(12) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		compareConfig(t, r, b.String())
	}
	if _, err := Parse([]byte("[a]\nk = x\x00y\n")); err == nil {
		t.Error("a NUL byte is taken")
	}
}

// FuzzConfig: every setting that was parsed reads back when it is written, and the host
// directory's configuration has no setting that names a program.
func FuzzConfig(f *testing.F) {
	for _, text := range configTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := Parse(text)
		if err != nil {
			return
		}
		var b bytes.Buffer
		var written []Entry
		for _, e := range entries {
			if e.Class() == ClassNever {
				continue
			}
			Write(&b, e)
			written = append(written, e)
		}
		again, err := Parse(b.Bytes())
		if err != nil || printed(again) != printed(written) {
			t.Errorf("%q is written as %q and reads as %q, %v", printed(written), b.Bytes(), printed(again), err)
		}
		for _, e := range again {
			if strings.HasPrefix(e.Key, "include") || strings.HasPrefix(e.Key, "alias.") || strings.Contains(e.Key, "hook") {
				t.Errorf("%s is carried", e.Key)
			}
		}
	})
}
