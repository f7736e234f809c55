package croft_test

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// markdownPages lists the pages that people read.
func markdownPages(t *testing.T) (pages []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != "." && (strings.HasPrefix(entry.Name(), ".git") && entry.Name() != ".github" || entry.Name() == "node_modules" || entry.Name() == "testdata") {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".md") && entry.Type().IsRegular() {
			pages = append(pages, filepath.ToSlash(path))
		}
		return nil
	})
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	return pages
}

var (
	fenced = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	coded  = regexp.MustCompile("`[^`\n]*`")
	linked = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	titled = regexp.MustCompile(`(?m)^#{1,6} +(.+)$`)
)

// anchors are the names of the headings of a page, as hosts of repositories make them.
func anchors(text string) (names []string) {
	for _, heading := range titled.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		title := linked.ReplaceAllString(heading[1], "")
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(title))
		names = append(names, name)
	}
	return names
}

// TestLinks: every link between pages leads to a file that is there, and to a heading that it has.
func TestLinks(t *testing.T) {
	texts := map[string]string{}
	read := func(page string) string {
		if _, ok := texts[page]; !ok {
			text, _ := os.ReadFile(page) // a page that is missing has no headings
			texts[page] = string(text)
		}
		return texts[page]
	}
	links := 0
	for _, page := range markdownPages(t) {
		prose := coded.ReplaceAllString(fenced.ReplaceAllString(read(page), ""), "")
		for _, link := range linked.FindAllStringSubmatch(prose, -1) {
			target, err := url.Parse(link[1])
			if err != nil {
				t.Errorf("%s: %s: %v", page, link[1], err)
				continue
			}
			if target.Scheme != "" || target.Host != "" {
				continue
			}
			links++
			to := page
			if target.Path != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(page), target.Path))
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s leads nowhere", page, link[1])
				continue
			}
			if target.Fragment != "" && strings.HasSuffix(to, ".md") && !slices.Contains(anchors(read(to)), target.Fragment) {
				t.Errorf("%s: %s: there is no such heading", page, link[1])
			}
		}
	}
	if links < 100 {
		t.Errorf("%d links were found: the test does not see them", links)
	}
}
