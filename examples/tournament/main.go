// Tournament lets several agents attempt a task in rounds, and applies what the winner made of
// it. Killed and run again with the same key, it goes on where it was.
//
//	tournament -key issue-42 -agents opus,codex -run './agent.sh' -judge './judge.sh' ../app ../lib
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/connect"
)

func main() {
	key := flag.String("key", "", "names the tournament")
	rounds := flag.Int("rounds", 3, "how many rounds are played")
	agents := flag.String("agents", "opus,codex,gemini,qwen", "who takes part")
	run := flag.String("run", "", "the command that is an agent; it gets its prompt on stdin")
	judge := flag.String("judge", "head -n 1", "the command that names the winner; it gets a line with agent and commit for each on stdin")
	flag.Parse()
	if err := tournament(context.Background(), *key, *rounds, strings.Split(*agents, ","), *run, *judge, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "tournament:", err)
		os.Exit(1)
	}
}

func tournament(ctx context.Context, key string, rounds int, agents []string, run, judge string, repos []string) error {
	svc, err := connect.Open(ctx, ".", nil)
	if err != nil {
		return err
	}
	defer svc.Close()
	ses, err := svc.StartSession(ctx, croft.SessionRequest{Key: key, Repo: repos[0]})
	if err != nil || ses.State == croft.SessionEnded {
		return err
	}
	var r *croft.Round
	for n := 1; n <= rounds; n++ { // after a crash: the same key, the same rounds
		r, err = svc.StartRound(ctx, croft.RoundRequest{Session: croft.ByID(ses.ID), Number: n, Agents: agents, Repos: repos})
		if err != nil {
			return err
		}
		var wg sync.WaitGroup
		for _, ws := range r.Workspaces {
			wg.Go(func() { runAgent(ctx, svc, ws, run) })
		}
		wg.Wait()
		if r, err = svc.EndRound(ctx, croft.EndRoundRequest{Round: r.ID}); err != nil {
			return err
		}
		if len(r.Failed) > 0 {
			return r.Failed[0].Reason // a checkout could not be put away: try again
		}
	}
	winner, err := best(ctx, r, repos[0], judge)
	if err != nil {
		return err
	}
	for _, repo := range repos {
		fin, err := svc.Present(ctx, croft.PresentRequest{Key: key + repo, Session: croft.ByID(ses.ID), Winner: winner, Repo: repo})
		if err != nil {
			return err
		}
		runAgent(ctx, svc, *fin, run)
		rev, err := svc.CreateReview(ctx, croft.ReviewRequest{Key: key, Repo: repo, Workspace: string(fin.ID)})
		if err != nil {
			return err
		}
		m, err := croft.Apply(ctx, svc, croft.ApplyRequest{Key: key, Repo: repo, Review: rev.ID, Paths: []string{"."}})
		if err != nil {
			return err
		}
		if m.Status != croft.MergeMerged {
			return errors.New("not applied: " + string(m.Reason)) // the session stays open: try again
		}
	}
	_, err = svc.EndSession(ctx, croft.EndSessionRequest{Session: croft.ByID(ses.ID)})
	return err
}

// runAgent runs an agent in its workspace. One that fails stays with the work that it has done.
func runAgent(ctx context.Context, svc croft.Service, ws croft.Workspace, run string) {
	if ws.State != croft.Ready {
		return // its round has ended
	}
	held, err := croft.Hold(ctx, svc, croft.LeaseRequest{Workspace: string(ws.ID)})
	if err != nil {
		return
	}
	defer held.Release(ctx)
	prompt, err := svc.Prompt(ctx, croft.WorkspaceRequest{Repo: ws.Repo, Ref: string(ws.ID)})
	if err != nil {
		return
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", run)
	cmd.Dir, cmd.Env, cmd.Stdin = ws.Path, append(os.Environ(), ws.Environ()...), strings.NewReader(prompt.Text)
	cmd.Stderr = os.Stderr
	_ = cmd.Run()
}

// best asks the judge whose work is presented: by commits, so that it says the same after a crash.
func best(ctx context.Context, r *croft.Round, repo, judge string) (string, error) {
	var results strings.Builder
	for _, ws := range r.Workspaces {
		fmt.Fprintln(&results, ws.Agent, ws.Head)
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", judge)
	cmd.Dir, cmd.Stdin, cmd.Stderr = repo, strings.NewReader(results.String()), os.Stderr
	out, err := cmd.Output()
	name, _, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	return name, err
}
