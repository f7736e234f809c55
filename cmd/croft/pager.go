package main

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/proc"
)

// usualPager is used where the user has not chosen another one.
const usualPager = "less -FRX"

// pager returns the line by which the user's pager is started, and an empty one if the user wants none: what CROFT_PAGER says, the
// user's own git configuration, PAGER. The configuration of a repository is not asked: an agent may have written it.
func pager(ctx context.Context, environ []string) string {
	line, isSet := lookUpSet(environ, "CROFT_PAGER")
	for _, file := range []string{"--global", "--system"} {
		if isSet {
			break
		}
		result, err := proc.Run(ctx, proc.Command{
			Path: "git", Args: []string{"config", file, "--includes", "--get", "core.pager"}, Dir: string(filepath.Separator), Env: shellEnviron(environ, string(filepath.Separator), nil),
		})
		line, isSet = strings.TrimRight(string(result.Stdout), "\n"), err == nil
	}
	if !isSet {
		line, isSet = lookUpSet(environ, "PAGER")
	}
	if !isSet {
		line = usualPager
		if _, err := proc.Find("less", environ); err != nil {
			return ""
		}
	}
	if line == "cat" {
		return ""
	}
	return line
}

// lookUpSet returns the value of a variable, and whether there is one.
func lookUpSet(environ []string, name string) (value string, isSet bool) {
	for _, entry := range environ {
		if rest, ok := strings.CutPrefix(entry, name+"="); ok {
			value, isSet = rest, true
		}
	}
	return value, isSet
}

// pageText shows a text with the user's pager until that ends. It reports false if it has shown nothing: there is none, or the user wants
// none.
func pageText(ctx context.Context, environ []string, signals *signals, text []byte) bool {
	line := pager(ctx, environ)
	if line == "" {
		return false
	}
	env := slices.Clone(environ)
	for name, usual := range map[string]string{"LESS": "FRX", "LV": "-c"} {
		if _, isSet := lookUpSet(environ, name); !isSet {
			env = append(env, name+"="+usual)
		}
	}
	path, args := proc.Shell(line)
	defer signals.leaveToChild()()
	status, err := proc.Interactive(ctx, proc.Command{Path: path, Args: args, Env: env, Stdin: bytes.NewReader(text)})
	const notFound, notRunning = 127, 126 // as shells say it
	return err == nil && status != notFound && status != notRunning
}
