package token

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

func TestMakeFindRevoke(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := Open(dir)
	made, secret, err := s.Make(t.Context(), Request{Name: "ci", Access: croft.AccessWorkspace, Workspace: "w1"})
	if err != nil {
		t.Fatal(err)
	}
	if len(secret) < len(prefix)+43 || !strings.HasPrefix(secret, prefix) {
		t.Errorf("secret %q", secret)
	}
	found, err := Open(dir).Find(secret)
	if err != nil || found.ID != made.ID || found.Access != croft.AccessWorkspace || found.Workspace != "w1" {
		t.Fatalf("found %+v, %v", found, err)
	}
	for _, wrong := range []string{"", prefix, secret + "x", secret[:len(secret)-1], "Bearer " + secret, string(made.ID), digest(secret), prefix + digest(secret)} {
		if got, err := s.Find(wrong); !errors.Is(err, croft.Unauthenticated) {
			t.Errorf("Find(%q) = %+v, %v", wrong, got, err)
		}
	}
	if found, err := s.Find(secret); err != nil || found.ID != made.ID {
		t.Fatalf("found %+v, %v", found, err)
	}
	// Another process revokes it.
	if revoked, err := Open(dir).Revoke(t.Context(), "ci"); err != nil || revoked.ID != made.ID {
		t.Fatalf("revoked %+v, %v", revoked, err)
	}
	if _, err := s.Find(secret); !errors.Is(err, croft.Unauthenticated) {
		t.Errorf("a revoked token is found: %v", err)
	}
	if s.Has(made.ID) {
		t.Error("a revoked token is still there")
	}
	if _, err := s.Revoke(t.Context(), "ci"); !errors.Is(err, croft.TokenNotFound) {
		t.Errorf("revoked twice: %v", err)
	}
}

func TestNothingSecretAtRest(t *testing.T) {
	dir := t.TempDir()
	s := Open(dir)
	_, secret, err := s.Make(t.Context(), Request{Name: "ci", Access: croft.AccessAll})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, fileName)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), strings.TrimPrefix(secret, prefix)) {
		t.Error("the secret is in the file")
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestRefusedRequests(t *testing.T) {
	s := Open(t.TempDir())
	if _, _, err := s.Make(t.Context(), Request{Name: "a", Access: croft.AccessRead}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		req  Request
		want croft.Code
	}{
		{Request{Name: "", Access: croft.AccessAll}, croft.InvalidName},
		{Request{Name: "a", Access: croft.AccessAll}, croft.InvalidName},
		{Request{Name: "b\x1b[31m", Access: croft.AccessAll}, croft.InvalidName},
		{Request{Name: "-x", Access: croft.AccessAll}, croft.InvalidName},
		{Request{Name: "b c", Access: croft.AccessAll}, croft.InvalidName},
		{Request{Name: strings.Repeat("x", 65), Access: croft.AccessAll}, croft.InvalidName},
		{Request{Name: "b"}, croft.InvalidRequest},
		{Request{Name: "b", Access: "root"}, croft.InvalidRequest},
		{Request{Name: "b", Access: croft.AccessWorkspace}, croft.InvalidRequest},
		{Request{Name: "b", Access: croft.AccessAll, Workspace: "w"}, croft.InvalidRequest},
	} {
		if _, _, err := s.Make(t.Context(), c.req); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %s", c.req, err, c.want)
		}
	}
	if all, err := s.List(); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}

// TestUseIsCoarse: the file is written when a token is used, and not again within a minute.
func TestUseIsCoarse(t *testing.T) {
	s := Open(t.TempDir())
	clock := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	s.now = func() time.Time { return clock }
	made, secret, err := s.Make(t.Context(), Request{Name: "a", Access: croft.AccessRead})
	if err != nil {
		t.Fatal(err)
	}
	usedAt := func() time.Time {
		t.Helper()
		if _, err := s.Find(secret); err != nil {
			t.Fatal(err)
		}
		all, err := s.List()
		if err != nil {
			t.Fatal(err)
		}
		return all[0].UsedAt
	}
	if !made.UsedAt.IsZero() {
		t.Error("used before it was")
	}
	first := usedAt()
	if !first.Equal(clock) {
		t.Errorf("used at %v, want %v", first, clock)
	}
	clock = clock.Add(59 * time.Second)
	if got := usedAt(); !got.Equal(first) {
		t.Errorf("written again after 59 s: %v", got)
	}
	clock = clock.Add(2 * time.Second)
	if got := usedAt(); !got.Equal(clock) {
		t.Errorf("not written after 61 s: %v", got)
	}
}

// TestManyAtOnce: no token of several that are made at once is lost.
func TestManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for name := range strings.SplitSeq("abcdefghijklmnop", "") {
		wg.Go(func() {
			s := Open(dir)
			_, secret, err := s.Make(t.Context(), Request{Name: name, Access: croft.AccessRead})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := s.Find(secret); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if all, err := Open(dir).List(); err != nil || len(all) != 16 {
		t.Errorf("%d tokens, %v", len(all), err)
	}
}

func TestDamagedFileIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, fileName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir).Find(prefix + "x"); !errors.Is(err, croft.StateUnavailable) {
		t.Errorf("%v", err)
	}
	if _, _, err := Open(dir).Make(t.Context(), Request{Name: "a", Access: croft.AccessAll}); !errors.Is(err, croft.StateUnavailable) {
		t.Errorf("a damaged file was replaced: %v", err)
	}
}
