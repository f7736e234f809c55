package engine_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// sshServer starts an ssh server of the test's own on the loopback interface, and returns its
// port and the command by which its user calls it.
func sshServer(t *testing.T, home string) (port int, command string) {
	t.Helper()
	sshd, err := exec.LookPath("/usr/sbin/sshd")
	if err != nil {
		t.Skip("there is no sshd: apt-get install openssh-server")
	}
	dir := filepath.Join(home, "sshd")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		_ = os.MkdirAll("/run/sshd", 0o755) // without it the server of root does not start
	}
	for _, key := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port = l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	config := fmt.Sprintf("ListenAddress 127.0.0.1:%d\nHostKey %s/host\nAuthorizedKeysFile %s/user.pub\nPidFile none\nUsePAM no\nStrictModes no\n"+
		"PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n", port, dir, dir)
	gittest.WriteFile(t, filepath.Join(dir, "config"), config)
	var log bytes.Buffer
	cmd := exec.Command(sshd, "-D", "-e", "-f", filepath.Join(dir, "config"))
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	for begun := time.Now(); ; {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = conn.Close()
			break
		}
		select {
		case <-ended:
			t.Fatalf("sshd has ended: %s", log.String())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Since(begun) > 10*time.Second {
			t.Fatalf("sshd does not answer: %v", err)
		}
	}
	command = fmt.Sprintf("ssh -F none -i %s/user -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=%s/known", dir, dir)
	return port, command
}

// TestPushOverSSH: the user's own ssh command reaches the remote, and one that an agent wrote
// into the repository's configuration does not run.
func TestPushOverSSH(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	port, command := sshServer(t, r.Home)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	bare := r.Beside("up.git")
	r.Git("init", "--quiet", "--bare", "-b", "main", bare)
	r.Git("remote", "add", "origin", fmt.Sprintf("ssh://%s@127.0.0.1:%d%s", me.Username, port, bare))
	r.Git("config", "--global", "core.sshCommand", command)
	e := open(t, r.Dir, &engine.Options{Environ: r.Env})
	w := create(t, e, croft.CreateRequest{Name: "a"})
	pwned := filepath.Join(r.Home, "pwned")
	r.Git("config", "core.sshCommand", "touch "+pwned+";")
	r.Git("config", "remote.origin.receivepack", "touch "+pwned+"; git-receive-pack")
	r.Git("config", "remote.origin.uploadpack", "touch "+pwned+"; git-upload-pack")
	r.Git("config", "credential.helper", "!touch "+pwned)
	r.Git("config", "url.ext::touch "+pwned+".insteadOf", "ssh://")
	for _, want := range []croft.PushOutcome{croft.PushCreated, croft.PushFastForward} {
		gittest.WriteFile(t, filepath.Join(w.Path, "f.txt"), string(want))
		got, err := e.Push(t.Context(), croft.PushRequest{Workspace: "a"})
		if err != nil {
			t.Fatalf("%s: %v\n%s", want, err, croft.AsError("", err).Details)
		}
		if there := r.GitIn(bare, "rev-parse", "refs/heads/"+w.Branch); got.Outcome != want || there != show(t, e, "a").Head {
			t.Errorf("%+v, there %s", got, there)
		}
	}
	if exists(pwned) {
		t.Error("a program of the repository's configuration ran")
	}
	// A key that the server does not know is no question at a terminal, but an error.
	r.Git("config", "--global", "core.sshCommand", "ssh -F none -i /nonexistent -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null")
	gittest.WriteFile(t, filepath.Join(w.Path, "f.txt"), "more")
	_, err = e.Push(t.Context(), croft.PushRequest{Workspace: "a"})
	wantCode(t, err, croft.RemoteUnreachable)
}
