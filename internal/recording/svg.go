package recording

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Recording is what stood on a terminal, and when.
type Recording struct {
	Title   string // for those who hear the picture, and above it
	Columns int

	frames []frame
}

type frame struct {
	at   time.Duration
	rows [][]Span
}

// Add notes what stands on the terminal from a time on, which is not before that of the last call.
func (r *Recording) Add(at time.Duration, rows [][]Span) {
	if n := len(r.frames); n > 0 && r.frames[n-1].at == at {
		r.frames = r.frames[:n-1]
	}
	r.frames = append(r.frames, frame{at, rows})
}

// Text is what stands there at the end.
func (r *Recording) Text() string {
	if len(r.frames) == 0 {
		return ""
	}
	var b strings.Builder
	for _, row := range r.frames[len(r.frames)-1].rows {
		for _, span := range row {
			b.WriteString(span.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// The measures of a picture, in its own units. A column has a width of its own, whatever the font.
const (
	fontSize    = 14
	columnWidth = 8.4
	rowHeight   = 20
	margin      = 16
	barHeight   = 32
)

// style has the two themes, and the movement. What was written over is hidden but for its time, what stays is
// shown but before its time: so who plays no animation sees the end.
const style = `svg{--ground:#fff;--line:#d0d7de;--text:#1f2328;--dim:#656d76;--red:#cf222e;--green:#1a7f37;--yellow:#7d4e00;--blue:#0550ae;--magenta:#8250df;--cyan:#0a6c74}
@media(prefers-color-scheme:dark){svg{--ground:#161b22;--line:#30363d;--text:#e6edf3;--dim:#8d96a0;--red:#ff7b72;--green:#56d364;--yellow:#e3b341;--blue:#79c0ff;--magenta:#d2a8ff;--cyan:#56d4dd}}
rect{fill:var(--ground);stroke:var(--line)}line{stroke:var(--line)}
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;fill:var(--text);white-space:pre}
.d{fill:var(--dim)}.c31{fill:var(--red)}.c32{fill:var(--green)}.c33{fill:var(--yellow)}.c34{fill:var(--blue)}.c35{fill:var(--magenta)}.c36{fill:var(--cyan)}.d.c32,.d.c36{opacity:.75}.b{font-weight:700}
@keyframes before{from,to{visibility:hidden}}@keyframes during{from,to{visibility:visible}}
.o{visibility:hidden;animation-name:during;animation-timing-function:step-end}.s{animation-name:before;animation-timing-function:step-end}
@media(prefers-reduced-motion:reduce){.o,.s{animation:none}}
`

// SVG is the picture.
func (r *Recording) SVG() []byte {
	height := 0
	for _, f := range r.frames {
		height = max(height, len(f.rows))
	}
	w, h := int(float64(r.Columns)*columnWidth)+2*margin, height*rowHeight+barHeight+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-labelledby="t x">`+"\n", w, h, w, h)
	fmt.Fprintf(&b, "<title id=\"t\">%s</title>\n<desc id=\"x\">%s</desc>\n<style>\n%s</style>\n", escaped(r.Title), escaped(r.Text()), style)
	fmt.Fprintf(&b, `<rect x=".5" y=".5" width="%d" height="%d" rx="8"/><line x1="0" x2="%d" y1="%d" y2="%d"/>`+"\n", w-1, h-1, w, barHeight, barHeight)
	fmt.Fprintf(&b, `<text class="d" x="%d" y="21">%s</text>`+"\n", margin, escaped(r.Title))
	for row := range height {
		r.row(&b, row)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// row writes all that stood in a row, one after the other.
func (r *Recording) row(b *strings.Builder, row int) {
	at := func(i int) []Span {
		if row < len(r.frames[i].rows) {
			return r.frames[i].rows[row]
		}
		return nil
	}
	for i := 0; i < len(r.frames); {
		next := i + 1
		for next < len(r.frames) && isSame(at(next), at(i)) {
			next++
		}
		if spans := at(i); len(spans) > 0 {
			from := r.frames[i].at
			if next == len(r.frames) {
				fmt.Fprintf(b, `<g class="s" style="animation-duration:%s">`, seconds(from))
			} else {
				fmt.Fprintf(b, `<g class="o" style="animation-duration:%s;animation-delay:%s">`, seconds(r.frames[next].at-from), seconds(from))
			}
			y := barHeight + margin + row*rowHeight + fontSize
			column := 0
			for _, span := range spans {
				column = spanText(b, span, column, y)
			}
			b.WriteString("</g>\n")
		}
		i = next
	}
}

// run is text in one piece: one sign that fonts take from elsewhere, or letters with single spaces between.
var run = regexp.MustCompile(`[^\x20-\x7e]|[\x21-\x7e]+(?: [\x21-\x7e]+)*`)

// spanText writes the text of a span from a column on, and returns the column behind it.
func spanText(b *strings.Builder, span Span, column, y int) int {
	for _, at := range run.FindAllStringIndex(span.Text, -1) {
		text := span.Text[at[0]:at[1]]
		n := utf8.RuneCountInString(text)
		start := column + utf8.RuneCountInString(span.Text[:at[0]])
		fmt.Fprintf(b, `<text x="%s" y="%d"`, units(float64(start)), y)
		if n > 1 {
			fmt.Fprintf(b, ` textLength="%s"`, strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)*columnWidth), ".0"))
		}
		if class := span.Style.class(); class != "" {
			fmt.Fprintf(b, ` class="%s"`, class)
		}
		fmt.Fprintf(b, ">%s</text>", escaped(text))
	}
	return column + utf8.RuneCountInString(span.Text)
}

func (s Style) class() string {
	var names []string
	if s.IsBold {
		names = append(names, "b")
	}
	if s.IsDim {
		names = append(names, "d")
	}
	if s.Color != 0 {
		names = append(names, fmt.Sprintf("c%d", s.Color))
	}
	return strings.Join(names, " ")
}

func units(columns float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", margin+columns*columnWidth), ".0")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2fs", d.Seconds()) }

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes all
	return strings.ReplaceAll(b.String(), "&#xA;", "\n")
}

var described = regexp.MustCompile(`(?s)<desc id="x">(.*?)</desc>`)

// TextOf is what stands at the end of a picture, as SVG wrote it.
func TextOf(svg []byte) string {
	found := described.FindSubmatch(svg)
	if found == nil {
		return ""
	}
	var text string
	if err := xml.Unmarshal([]byte("<d>"+string(found[1])+"</d>"), &text); err != nil {
		return ""
	}
	return text
}
