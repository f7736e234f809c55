package fsx

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAddWhole: nothing has the name of a file before it is whole, nor after its filling has failed; with and without
// files that have no name.
func TestAddWhole(t *testing.T) {
	for name, add := range map[string]func(f *Tree, name string, fill func(*os.File) error) error{"unnamed": (*Tree).addWhole, "staged": (*Tree).addStaged} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			tree := OpenTree(top)
			defer tree.Release()
			tree.StageIn(".stage")
			if _, err := tree.MakeDir("a"); err != nil {
				t.Fatal(err)
			}
			isThere := func() bool { return IsThere(filepath.Join(top, "a/f")) }
			err := add(tree, "a/f", func(out *os.File) error {
				if _, err := out.WriteString("text"); err != nil || isThere() {
					t.Errorf("it has its name before it is whole: %v", err)
				}
				return nil
			})
			if text, rerr := os.ReadFile(filepath.Join(top, "a/f")); err != nil || rerr != nil || string(text) != "text" {
				t.Errorf("%q, %v, %v", text, err, rerr)
			}
			if err := add(tree, "a/f", func(*os.File) error { return nil }); !errors.Is(err, os.ErrExist) {
				t.Errorf("over another file: %v", err)
			}
			failed := errors.New("full")
			if err := add(tree, "a/g", func(*os.File) error { return failed }); !errors.Is(err, failed) || IsThere(filepath.Join(top, "a/g")) {
				t.Errorf("a failure: %v", err)
			}
			if others, err := tree.ClearStage(); err != nil || len(others) > 0 || IsThere(filepath.Join(top, ".stage")) {
				t.Errorf("left: %q, %v", others, err)
			}
		})
	}
}

// TestExchangeKeepsItsDirectories: two directories are held open at a time however many were opened before.
func TestExchangeKeepsItsDirectories(t *testing.T) {
	top := t.TempDir()
	tree := OpenTree(top)
	defer tree.Release()
	deep := strings.Repeat("d/", 40) + "d"
	for _, name := range []string{"a/f", deep + "/f"} {
		if _, err := tree.MakeDir(parentOf(name)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tree.Close()
	for i := range 100 {
		if _, err := tree.MakeDir("x" + string(rune('a'+i%26)) + "/" + string(rune('a'+i/26))); err != nil {
			t.Fatal(err)
		}
		err := tree.Exchange("a/f", deep+"/f")
		if errors.Is(err, ErrNoExchange) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(top, "a/f")); err != nil || string(text) != "a/f" {
		t.Errorf("%q, %v", text, err)
	}
}
