package connect_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/connect"
)

// project makes a repository with one commit for the examples, and returns
// its directory and an environment of its own.
func project() (dir string, env []string, cleanup func()) {
	top, err := os.MkdirTemp("", "croft-example-")
	if err != nil {
		log.Fatal(err)
	}
	dir = filepath.Join(top, "app")
	env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + top, "GIT_CONFIG_NOSYSTEM=1", "CROFT_STATE_DIR=" + filepath.Join(top, "state"),
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main", dir},
		{"-C", dir, "commit", "--quiet", "--allow-empty", "--message", "first"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Env = env
		if out, err := cmd.CombinedOutput(); err != nil {
			log.Fatalf("git: %v\n%s", err, out)
		}
	}
	return dir, env, func() { _ = os.RemoveAll(top) }
}

// Three agents get a workspace each, all or none.
func ExampleOpen() {
	ctx := context.Background()
	dir, env, cleanup := project()
	defer cleanup()

	svc, err := connect.Open(ctx, dir, &connect.Options{Environ: env})
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close()
	team, err := svc.CreateAll(ctx, croft.CreateAllRequest{Workspaces: []croft.CreateRequest{
		{Name: "researcher"}, {Name: "developer"}, {Name: "reviewer"},
	}})
	if err != nil {
		log.Fatal(err)
	}
	for _, ws := range team.Workspaces {
		fmt.Println(ws.Name, ws.State, ws.Branch, filepath.Base(ws.Path), "→", ws.Target)
	}
	// Output:
	// researcher ready croft/researcher researcher → main
	// developer ready croft/developer developer → main
	// reviewer ready croft/reviewer reviewer → main
}

// A call that carries a key may be made again after a crash.
func ExampleOpen_again() {
	ctx := context.Background()
	dir, env, cleanup := project()
	defer cleanup()

	svc, err := connect.Open(ctx, dir, &connect.Options{Environ: env})
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close()
	req := croft.CreateRequest{Key: "issue-42", Name: "fix-login"}
	first, err := svc.Create(ctx, req)
	if err != nil {
		log.Fatal(err)
	}
	second, err := svc.Create(ctx, req)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(first.ID == second.ID)

	_, err = svc.Create(ctx, croft.CreateRequest{Name: "fix-login"})
	fmt.Println(errors.Is(err, croft.WorktreeExists))
	// Output:
	// true
	// true
}

// A workspace is removed to the trash. Uncommitted work is not removed unless
// the request says so.
func ExampleOpen_remove() {
	ctx := context.Background()
	dir, env, cleanup := project()
	defer cleanup()

	svc, err := connect.Open(ctx, dir, &connect.Options{Environ: env})
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close()
	ws, err := svc.Create(ctx, croft.CreateRequest{Name: "fix-login"})
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(ws.Path, "notes.txt"), []byte("not committed\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	res, err := svc.Remove(ctx, croft.RemoveRequest{Workspaces: []string{"fix-login"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(res.Removed), res.Kept[0].Reason.Code, res.Kept[0].Reason.Message)

	res, err = svc.Remove(ctx, croft.RemoveRequest{Workspaces: []string{"fix-login"}, Mode: croft.RemoveForce})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(res.Removed), res.Removed[0].Branch)
	// Output:
	// 0 WORKSPACE_DIRTY 1 file is not committed
	// 1 croft/fix-login
}
