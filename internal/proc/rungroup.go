package proc

import (
	"context"
	"io"
	"os"
	"sync"
	"time"
)

// RunGroup runs a process to its end, and ends with it whatever it started in
// its group: nothing goes on writing after RunGroup has returned, whether the
// process ended by itself or its context did. Both its outputs go to c.Stdout,
// in the order in which they were written. The error is as of Run.
func RunGroup(ctx context.Context, c Command) error {
	out, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := newGroupCmd(ctx, c)
	defer dieWithParent(cmd.Cmd)()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, w, w
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		return outcomeError(ctx, c, err, nil)
	}
	sink := &sink{w: c.Stdout}
	defer sink.close()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(sink, out)
	}()
	err = cmd.Wait()
	cmd.killRest(ctx, err)
	_ = killGroup(cmd.Process)
	// What left the group may keep the output open; it is not waited for long.
	deadline := time.NewTimer(killDelay)
	defer deadline.Stop()
	select {
	case <-drained:
	case <-deadline.C:
	}
	for begun := time.Now(); !isGroupGone(cmd.Process) && time.Since(begun) < groupPatience; {
		time.Sleep(time.Millisecond)
	}
	return outcomeError(ctx, c, err, nil)
}

// groupPatience is how long killed processes may take to be gone. Where their
// parent does not wait for them they stay for ever, as zombies.
const groupPatience = 250 * time.Millisecond

// sink takes a process's output until it is closed. What cannot be written is
// dropped: the process would wait for ever for a reader.
type sink struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w != nil {
		if _, err := s.w.Write(b); err != nil {
			s.w = nil
		}
	}
	return len(b), nil
}

func (s *sink) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w = nil
}
