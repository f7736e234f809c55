package dashboard

import (
	"embed"
	"html/template"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/pattern"
)

//go:embed templates
var templateFiles embed.FS

// templates has a set of templates for each page.
type templates struct {
	pages map[string]*template.Template
	icons map[string]string // symbols by name
}

var symbol = pattern.New(`<symbol id="i-([a-z]+)".*</symbol>`)

func parseTemplates(a *assets) templates {
	shared := template.New("shared").Funcs(functions(a))
	for _, name := range []string{"layout", "parts", "picks"} {
		template.Must(shared.Parse(readTemplate("templates/" + name + ".html")))
	}
	t := templates{pages: map[string]*template.Template{}, icons: map[string]string{}}
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		set := template.Must(template.Must(shared.Clone()).Parse(readTemplate(name)))
		t.pages[strings.TrimSuffix(path.Base(name), ".html")] = set
	}
	symbols, err := templateFiles.ReadFile("templates/icons.svg")
	if err != nil {
		panic(err)
	}
	for _, m := range symbol().FindAllStringSubmatch(string(symbols), -1) {
		t.icons[m[1]] = m[0]
	}
	return t
}

// readTemplate reads a file of templates. Its lines are for people who read the file: see joinLines.
func readTemplate(name string) string {
	text, err := templateFiles.ReadFile(name)
	if err != nil {
		panic(err) // it is in the binary
	}
	return joinLines(string(text))
}

var lineBreak = pattern.New(`[ \t]*\n\s*`)

// joinLines takes the line breaks and the indentation out of a template. A break between two tags or actions
// is nothing, so that elements that lie side by side may stand on lines of their own; one beside
// text is a space.
func joinLines(text string) string {
	var b strings.Builder
	last := 0
	for _, at := range lineBreak().FindAllStringIndex(text, -1) {
		b.WriteString(text[last:at[0]])
		last = at[1]
		isBetweenTags := at[0] == 0 || at[1] == len(text) ||
			strings.ContainsRune(">}", rune(text[at[0]-1])) && strings.ContainsRune("<{", rune(text[at[1]]))
		if !isBetweenTags {
			b.WriteByte(' ')
		}
	}
	b.WriteString(text[last:])
	return b.String()
}

var usedIcon = pattern.New(`href="#i-([a-z]+)"`)

// iconsOf are the symbols that a page needs: those that it uses, or all if updates may bring others.
func (t *templates) iconsOf(f *frame) template.HTML {
	var b strings.Builder
	if f.Events != "" {
		for _, name := range slices.Sorted(maps.Keys(t.icons)) {
			b.WriteString(t.icons[name])
		}
	} else {
		seen := map[string]bool{}
		for _, m := range usedIcon().FindAllStringSubmatch(string(f.Main), -1) {
			if !seen[m[1]] {
				seen[m[1]] = true
				b.WriteString(t.icons[m[1]])
			}
		}
	}
	return template.HTML(b.String()) //nolint:gosec // symbols of icons.svg, which is in the binary
}
