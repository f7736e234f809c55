// Pool gives every task to an agent with a workspace of its own, a few at a time, and merges
// what they made. Killed and run again with the same tasks, it goes on where it was: the
// keys of its calls are the tasks.
//
//	pool -workers 3 -run './agent.sh' issue-1 issue-2 issue-3
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"sync"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/connect"
)

func main() {
	workers := flag.Int("workers", 3, "how many agents are at work at once")
	run := flag.String("run", "", "the command that is an agent; its task is the name of its workspace")
	flag.Parse()
	if err := pool(context.Background(), *workers, *run, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "pool:", err)
		os.Exit(1)
	}
}

func pool(ctx context.Context, workers int, run string, tasks []string) error {
	svc, err := connect.Open(ctx, ".", nil)
	if err != nil {
		return err
	}
	defer svc.Close()
	todo := make(chan string)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for range workers {
		wg.Go(func() {
			for task := range todo {
				m, err := do(ctx, svc, task, run)
				mu.Lock()
				if err != nil {
					failed = fmt.Errorf("%s: %w", task, err)
				} else {
					fmt.Println(task, m.Status, m.Reason, m.Commit) // a conflict is m.Reason, not err
				}
				mu.Unlock()
			}
		})
	}
	for _, task := range tasks {
		todo <- task
	}
	close(todo)
	wg.Wait()
	return failed
}

// do carries out one task. Each call may have been made by a run that was killed: with the
// same key it returns what that run got.
func do(ctx context.Context, svc croft.Service, task, run string) (*croft.Merge, error) {
	ws, err := svc.Create(ctx, croft.CreateRequest{Key: task, Name: task})
	if err != nil {
		return nil, err
	}
	req := croft.FinishRequest{Key: task, Workspace: string(ws.ID), Policy: croft.MergeAlways}
	if ws.Finished != nil { // before; the key belongs to this outcome
		req.Outcome = ws.Finished.Outcome
	} else {
		held, err := croft.Hold(ctx, svc, croft.LeaseRequest{Workspace: string(ws.ID)}) // renews itself
		if err != nil {
			return nil, err
		}
		defer held.Release(ctx)
		cmd := exec.CommandContext(ctx, "sh", "-c", run)
		cmd.Dir, cmd.Env, cmd.Stderr = ws.Path, append(os.Environ(), ws.Environ()...), os.Stderr
		if cmd.Run() != nil {
			req.Outcome = croft.Failed
		}
		req.Lease = &held.Lease
	}
	m, err := svc.Finish(ctx, req)
	if err != nil || req.Outcome == croft.Failed {
		return m, err
	}
	return svc.WaitMerge(ctx, croft.WaitRequest{Merge: m.ID})
}
