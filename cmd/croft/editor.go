package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/proc"
)

// editor returns the line by which the user's editor is started: what GIT_EDITOR says, the user's own git configuration, VISUAL, EDITOR, and
// else vi. The configuration of a repository is not asked: an agent may have written it.
func editor(ctx context.Context, environ []string) string {
	if line := lookUp(environ, "GIT_EDITOR"); line != "" {
		return line
	}
	result, err := proc.Run(ctx, proc.Command{
		Path: "git", Args: []string{"config", "--global", "--includes", "--get", "core.editor"}, Dir: string(filepath.Separator), Env: shellEnviron(environ, string(filepath.Separator), nil),
	})
	if line := strings.TrimRight(string(result.Stdout), "\n"); err == nil && line != "" {
		return line
	}
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if line := lookUp(environ, name); line != "" {
			return line
		}
	}
	return "vi"
}

// editText has the user edit a text, and returns what became of it.
func editText(ctx context.Context, environ []string, signals *signals, text []byte) ([]byte, error) {
	dir, err := os.MkdirTemp("", "croft-hunk-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "hunk.diff")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	line := editor(ctx, environ)
	path, args := proc.Shell(line + ` "$CROFT_EDITED"`)
	defer signals.leaveToChild()()
	status, err := proc.Interactive(ctx, proc.Command{Path: path, Args: args, Env: append(shellEnviron(environ, dir, nil), "CROFT_EDITED="+file), Dir: dir})
	if err == nil && status != 0 {
		err = fmt.Errorf("%s ended with status %d", line, status)
	}
	edited, rerr := os.ReadFile(file)
	return edited, errors.Join(err, rerr)
}
