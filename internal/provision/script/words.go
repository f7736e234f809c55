package script

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// IsScript reports whether a file is run rather than read.
func IsScript(name, mode string, text []byte) bool {
	return mode == ExecutableMode || bytes.HasPrefix(text, []byte("#!")) ||
		slices.Contains([]string{".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".ps1", ".go"}, path.Ext(name))
}

// Word is a word of a command that may be a path in the repository.
type Word struct {
	Path   string
	IsRead bool // a shell reads its commands from it
}

// Name returns the path for people.
func (w Word) Name() string {
	if strings.Contains(w.Path, "..") { // where that leads depends on links
		return w.Path
	}
	return path.Clean(w.Path)
}

// Words returns the words of a command that may be paths in the repository, also below the directories that it changes to.
func Words(command string) []Word {
	var list []Word
	add := func(text string, isRead bool) {
		if text != "" && !path.IsAbs(text) && !slices.ContainsFunc(list, func(w Word) bool { return w.Path == text && (w.IsRead || !isRead) }) {
			list = append(list, Word{text, isRead})
		}
	}
	dirs := []string{""}
	last := ""
	for _, text := range append(fieldsOf(command), quotedIn(command)...) {
		if last == "cd" || last == "-C" {
			dirs = append(dirs, text+"/")
		}
		_, below, _ := strings.Cut(text, "/") // of $PWD/setup.sh
		for _, dir := range dirs {
			add(dir+text, last == "." || last == "source")
			add(dir+below, last == "." || last == "source")
		}
		last = text
	}
	return list
}

func fieldsOf(command string) []string {
	return strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()<>\"'`=$", r) })
}

// quotedIn returns the texts in quotes of a command that have blanks in them.
func quotedIn(command string) []string {
	var list []string
	for _, quote := range []string{"'", `"`} {
		for i, text := range strings.Split(command, quote) {
			if i%2 == 1 && strings.ContainsAny(text, " \t") {
				list = append(list, text)
			}
		}
	}
	return list
}
