// Spawn gives one agent a workspace, runs it there, and merges what it made if
// it succeeded.
//
//	spawn -id issue-42 -run './agent.sh'
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/connect"
)

func main() {
	id := flag.String("id", "", "names the agent; the same one twice is the same workspace")
	run := flag.String("run", "", "the command that is the agent")
	flag.Parse()
	m, err := spawn(context.Background(), *id, *run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "spawn:", err)
		os.Exit(1)
	}
	fmt.Println(m.WorkspaceName, m.Status, m.Reason)
}

func spawn(ctx context.Context, id, run string) (*croft.Merge, error) {
	svc, err := connect.Open(ctx, ".", nil)
	if err != nil {
		return nil, err
	}
	defer svc.Close()
	ws, err := svc.Create(ctx, croft.CreateRequest{Key: id, Name: id, Layout: "agents"})
	if err != nil {
		return nil, err
	}
	held, err := croft.Hold(ctx, svc, croft.LeaseRequest{Workspace: string(ws.ID)}) // renews itself
	if err != nil {
		return nil, err
	}
	defer held.Release(ctx)
	out := croft.Succeeded
	cmd := exec.CommandContext(ctx, "sh", "-c", run)
	cmd.Dir, cmd.Env = ws.Path, append(os.Environ(), ws.Environ()...)
	if cmd.Run() != nil {
		out = croft.Failed
	}
	m, err := svc.Finish(context.WithoutCancel(ctx), croft.FinishRequest{Lease: &held.Lease, Outcome: out}) // commit; queue or pend
	if err != nil || out == croft.Failed {
		return m, err
	}
	return svc.WaitMerge(ctx, croft.WaitRequest{Merge: m.ID}) // a conflict is m.Reason, not err
}
