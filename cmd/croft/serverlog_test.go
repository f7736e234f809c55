package main

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
)

// TestFailureIn: what a daemon logged of its failure is the same error to who started it, in both
// formats of the log.
func TestFailureIn(t *testing.T) {
	failed := &croft.Error{
		Code: croft.Unsupported, Op: "serve", Message: `the port "7450" cannot be = listened at`, Details: "a\nb=c", Hint: "croft serve --tcp=127.0.0.1:0", Err: errors.New("bind: in use"),
	}
	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		"json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		var b bytes.Buffer
		log := slog.New(handler(&b))
		log.Info("serving", "pid", 7, "tcp", []string{}, "path", notStarted+"\nmsg="+notStarted)
		if e := failureIn(b.String()); e != nil {
			t.Errorf("%s: %+v", name, e)
		}
		logFailure(log, failed)
		if e := failureIn(strings.TrimSuffix(b.String(), "\n")); e != nil {
			t.Errorf("%s: half a line is %+v", name, e)
		}
		e := failureIn(b.String())
		if e == nil || e.Code != failed.Code || e.Message != failed.Message || e.Details != "a\nb=c\nbind: in use" || e.Hint != failed.Hint {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestTellSettings: a configuration that cannot be used is logged once, and that it can be used
// again.
func TestTellSettings(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "croft", "config.toml")
	set, err := config.Follow(config.Input{Environ: []string{"HOME=" + dir, "XDG_CONFIG_HOME=" + dir}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	log := slog.New(slog.NewTextHandler(&b, nil))
	told := ""
	for _, text := range []string{"", "broken = [", "broken = [", "[", "", ""} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		told = tellSettings(set.Refresh(), told, log)
	}
	if strings.Count(b.String(), "level=WARN") != 2 || strings.Count(b.String(), "used again") != 1 || !strings.Contains(b.String(), file+":1") {
		t.Error(b.String())
	}
}

// TestStateDirOf: the state directory is known also if the user's file cannot be used.
func TestStateDirOf(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "croft"), 0o700), os.WriteFile(filepath.Join(dir, "croft", "config.toml"), []byte("["), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, environ := range [][]string{{"HOME=" + dir}, {"HOME=" + dir, "XDG_STATE_HOME=" + dir}, {"HOME=" + dir, "CROFT_STATE_DIR=" + dir}} {
		set, err := config.Load(config.Input{Environ: environ})
		if err != nil {
			t.Fatal(err)
		}
		got, err := config.StateDirOf(append(environ, "XDG_CONFIG_HOME="+dir))
		if err != nil || got != set.Config().StateDir {
			t.Errorf("%q instead of %q: %v", got, set.Config().StateDir, err)
		}
	}
}
