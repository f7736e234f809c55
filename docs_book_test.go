package croft_test

import (
	"html"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	attribute = regexp.MustCompile(`<(\w+)[^<>]*? (href|src)="?([^" >]*)"?`)
	identity  = regexp.MustCompile(` id="?([^" >]+)"?`)
)

const sourceAddress = "https://github.com/croft-sh/croft"

// TestBook builds the book with Hugo as it is in Debian, and follows every link of every page: to a page and a
// part that it has, or to a file of the repository. Nothing is loaded from elsewhere.
func TestBook(t *testing.T) {
	hugo, err := exec.LookPath("hugo")
	if err != nil {
		if os.Getenv("CROFT_CI") != "" {
			t.Fatal(err)
		}
		t.Skip("there is no hugo here")
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), hugo, "--source", "docs/book", "--destination", dir, "--quiet", "--panicOnWarning", "--noBuildLock")
	cmd.Env = append(os.Environ(), "HUGO_RESOURCEDIR="+t.TempDir(), "HUGO_CACHEDIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("hugo: %v\n%s", err, out)
	}
	pages := builtPages(t, dir)
	links := 0
	for page, text := range pages {
		for _, found := range attribute.FindAllStringSubmatch(text, -1) {
			links++
			if problem := linkProblem(pages, dir, page, found[1], html.UnescapeString(found[3])); problem != "" {
				t.Errorf("%s: %s: %s", page, found[3], problem)
			}
		}
	}
	if links < 2000 {
		t.Errorf("%d links were found: the test does not see them", links)
	}
	first := pages["start.html"]
	docs, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range docs {
		name := strings.TrimSuffix(filepath.Base(doc), ".md") + ".html"
		if name != "README.html" && !strings.Contains(first, `href="./`+name+`"`) {
			t.Errorf("%s is not in docs/book/data/contents.toml", doc)
		}
	}
}

// builtPages are the pages by their paths.
func builtPages(t *testing.T, dir string) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".html") {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		pages[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil || len(pages) < 80 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	return pages
}

// linkProblem says what is wrong with a link of an element of a page, or nothing.
func linkProblem(pages map[string]string, dir, page, element, link string) string {
	to, err := url.Parse(link)
	switch {
	case err != nil:
		return err.Error()
	case (to.Host != "" || to.Scheme != "") && element != "a":
		return "it is loaded from elsewhere"
	case strings.HasPrefix(link, sourceAddress+"/blob/main/"):
		if _, err := os.Stat(strings.TrimPrefix(to.Scheme+"://"+to.Host+to.Path, sourceAddress+"/blob/main/")); err != nil {
			return "there is no such file in the repository"
		}
		return ""
	case to.Host != "" || to.Scheme != "":
		return ""
	}
	target := page
	if to.Path != "" {
		target = filepath.ToSlash(filepath.Join(filepath.Dir(page), to.Path))
	}
	text, isPage := pages[target]
	if !isPage {
		if info, err := os.Stat(filepath.Join(dir, target)); err != nil || info.IsDir() {
			return "it leads nowhere"
		}
		return ""
	}
	hasPart := func(found []string) bool { return found[1] == to.Fragment }
	if to.Fragment != "" && !slices.ContainsFunc(identity.FindAllStringSubmatch(text, -1), hasPart) {
		return "there is no such part"
	}
	return ""
}
