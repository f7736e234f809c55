package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli"
	"github.com/croft-sh/croft/internal/config"
)

// notStarted is what the log of a daemon in the background has if it could not begin, or ended
// by a failure.
const notStarted = "the daemon has failed"

// logFailure logs why a daemon has ended, as failureIn reads it.
func logFailure(log *slog.Logger, err error) {
	e := croft.AsError("serve", err)
	cause := ""
	if e.Err != nil {
		cause = e.Err.Error()
	}
	log.Error(notStarted, "code", string(e.Code), "error", e.Message, "cause", cause, "details", e.Details, "hint", e.Hint)
}

// failureIn returns the error that a daemon has logged when it failed, or nil.
func failureIn(log string) *croft.Error {
	for line := range strings.Lines(log) {
		if !strings.HasSuffix(line, "\n") {
			break // the daemon is still writing it
		}
		if has := attributes(line); has["msg"] == notStarted {
			details := strings.Trim(has["details"]+"\n"+has["cause"], "\n")
			return &croft.Error{Code: croft.Code(has["code"]), Op: "serve", Message: has["error"], Details: details, Hint: has["hint"]}
		}
	}
	return nil
}

// attributes returns the values of a line of a log, in either of its formats. Those that are no
// texts are left out in JSON.
func attributes(line string) map[string]string {
	has := map[string]string{}
	var object map[string]any
	if json.Unmarshal([]byte(line), &object) == nil {
		for key, value := range object {
			if text, ok := value.(string); ok {
				has[key] = text
			}
		}
		return has
	}
	for rest := strings.TrimSpace(line); rest != ""; rest = strings.TrimLeft(rest, " ") {
		key, value, ok := strings.Cut(rest, "=")
		if !ok {
			break
		}
		if quoted, err := strconv.QuotedPrefix(value); err == nil {
			has[key], _ = strconv.Unquote(quoted)
			rest = value[len(quoted):]
			continue
		}
		has[key], rest, _ = strings.Cut(value, " ")
	}
	return has
}

// settingsTime is how often a daemon looks whether the user's configuration can be used.
const settingsTime = 5 * time.Second

// watchSettings logs when the user's configuration cannot be used any more, and when it can be
// used again. The daemon goes on with the last one that it could use.
func watchSettings(ctx context.Context, set *config.Current, log *slog.Logger) {
	told := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(settingsTime):
		}
		told = tellSettings(set.Refresh(), told, log)
	}
}

// tellSettings logs what is wrong with the configuration, unless that was told before, and
// returns what is told now.
func tellSettings(err error, told string, log *slog.Logger) string {
	if err == nil {
		if told != "" {
			log.Info("the user's configuration is used again")
		}
		return ""
	}
	e := croft.AsError("config", err)
	if now := e.Message + "\n" + e.Details; now != told {
		log.Warn("the user's configuration cannot be used; the daemon goes on with the last one", "error", e.Message, "details", e.Details, "hint", e.Hint)
		return now
	}
	return told
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// tailOf returns what was written to a log since it had a size.
func tailOf(path string, from int64) string {
	f, err := os.Open(path)
	if err != nil {
		return path
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() < from {
		from = 0 // a log that had become long was begun anew
	}
	text, err := io.ReadAll(io.NewSectionReader(f, from, 4<<10))
	if err != nil || len(text) == 0 {
		return path
	}
	return string(text)
}

// openLog opens the log of a daemon.
func openLog(opts cli.ServeOptions) (*slog.Logger, func(), error) {
	var to io.Writer = os.Stderr
	done := func() {}
	if opts.LogFile != "" {
		f, err := openLogFile(opts.LogFile, maxLog)
		if err != nil {
			return nil, nil, &croft.Error{Code: croft.NotWritable, Op: "serve", Message: "the log cannot be written", Details: opts.LogFile, Err: err}
		}
		to, done = f, func() { _ = f.Close() }
	}
	level := map[string]slog.Level{"debug": slog.LevelDebug, "warn": slog.LevelWarn}[opts.LogLevel]
	options := &slog.HandlerOptions{Level: level}
	if opts.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(to, options)), done, nil
	}
	return slog.New(slog.NewTextHandler(to, options)), done, nil
}
