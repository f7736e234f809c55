package provision

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
)

// TestRecover: whatever a process that died has left of a renewal, the workspace has the old copy, the new file, or the
// agent's edit, whole. What is the agent's own stays.
func TestRecover(t *testing.T) {
	const before, after = "text", "newer"
	stage := stageName("f") + Digest([]byte(after))
	for name, test := range map[string]struct {
		found, want map[string]string
	}{
		"a file without an end":        {map[string]string{"f": before, StageDir + "/" + strings.Repeat("A", 26) + ".half": "ne"}, map[string]string{"f": before}},
		"a new file without a digest":  {map[string]string{"f": before, stageName("f") + "new": after}, map[string]string{"f": before}},
		"before the exchange":          {map[string]string{"f": before, stage: after}, map[string]string{"f": before}},
		"before it, and edited since":  {map[string]string{"f": "edit", stage: after}, map[string]string{"f": "edit"}},
		"after the exchange":           {map[string]string{"f": after, stage: before}, map[string]string{"f": after}},
		"after it, and edited since":   {map[string]string{"f": "edit", stage: before}, map[string]string{"f": "edit"}},
		"after it, and deleted since":  {map[string]string{stage: before}, map[string]string{"f": before}},
		"an edit that came out":        {map[string]string{"f": after, stage: "edit"}, map[string]string{"f": "edit"}},
		"edits before and after":       {map[string]string{"f": "second", stage: "first"}, map[string]string{"f": "second", ".croft-old-f": "first"}},
		"one is kept already":          {map[string]string{"f": "third", stage: "second", ".croft-old-f": "first"}, map[string]string{"f": "third", ".croft-old-f": "first", ".croft-old-f-2": "second"}},
		"moved, nothing at its name":   {map[string]string{stage + ".was": before, stage: after}, map[string]string{"f": before}},
		"an edit moved":                {map[string]string{stage + ".was": "edit", stage: after}, map[string]string{"f": "edit"}},
		"an edit like the new moved":   {map[string]string{stage + ".was": after, stage: after}, map[string]string{"f": after}},
		"moved, the new one in place":  {map[string]string{stage + ".was": before, "f": after}, map[string]string{"f": after}},
		"moved, another one in place":  {map[string]string{stage + ".was": "edit", "f": "agent"}, map[string]string{"f": "agent", ".croft-old-f": "edit"}},
		"the agent's own files":        {map[string]string{"f": before, StageDir + "/notes": "mine", ".croft-old-f": before}, map[string]string{"f": before, StageDir + "/notes": "mine", ".croft-old-f": before}},
		"of a copy that nobody knows":  {map[string]string{"f": before, stageName("g") + Digest([]byte(after)): "mine"}, map[string]string{"f": before, stageName("g") + Digest([]byte(after)): "mine"}},
		"a name that ends as a half's": {map[string]string{"f": before, StageDir + "/my.half": "mine"}, map[string]string{"f": before, StageDir + "/my.half": "mine"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.write(p.project, "f", before, 0)
			old := p.copied("f")
			p.write(p.project, "f", after, 0)
			if err := os.Remove(filepath.Join(p.workspace, "f")); err != nil {
				t.Fatal(err)
			}
			for name, text := range test.found {
				p.write(p.workspace, name, text, 0)
			}
			kept, err := p.Recover([]Copy{old})
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range kept {
				if _, isWanted := test.want[k.Kept]; !isWanted || k.Path != "f" {
					t.Errorf("told %+v", k)
				}
			}
			p.wantTexts(test.want)
		})
	}
}

// wantTexts expects the files of the workspace, and no other entries.
func (p *pair) wantTexts(want map[string]string) {
	p.t.Helper()
	left := map[string]string{}
	err := filepath.WalkDir(p.workspace, func(name string, d os.DirEntry, err error) error {
		if err != nil || name == p.workspace {
			return err
		}
		rel, _ := filepath.Rel(p.workspace, name)
		if d.IsDir() {
			if names, err := os.ReadDir(name); err == nil && len(names) == 0 {
				p.t.Errorf("%s is left", rel)
			}
			return nil
		}
		text, err := os.ReadFile(name)
		left[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	for name, text := range want {
		if left[name] != text {
			p.t.Errorf("%s has %q, want %q", name, left[name], text)
		}
		delete(left, name)
	}
	for name := range left {
		p.t.Errorf("%s is left", name)
	}
}

// TestSwapGivesEditsBack: what an agent does with a copy between the look at it and its replacement is at its name afterwards.
func TestSwapGivesEditsBack(t *testing.T) {
	for name, edit := range map[string]func(file string) error{
		"written":            func(file string) error { return os.WriteFile(file, []byte("mine"), 0o600) },
		"with size and time": func(file string) error { return editLike(file, "mine") },
		"replaced": func(file string) error {
			return errors.Join(os.WriteFile(file+"2", []byte("mine"), 0o600), os.Rename(file+"2", file))
		},
		"a link to elsewhere": func(file string) error { return errors.Join(os.Remove(file), os.Symlink("mine", file)) },
		"a directory":         func(file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			file := filepath.Join(p.workspace, "f")
			p.write(p.project, "f", "text", 0)
			old := p.copied("f")
			p.write(p.project, "f", "newer", 0)
			_, sum, err := p.stageNew("f", fsx.ContentCopied)
			if err = errors.Join(err, edit(file)); err != nil {
				t.Fatal(err)
			}
			want, err := os.Lstat(file)
			if err != nil {
				t.Fatal(err)
			}
			err = p.swap(old, sum)
			got, lerr := os.Lstat(file)
			if skip, isSkipped := errors.AsType[*SkipError](err); !isSkipped || skip.Kept != "" || lerr != nil || !os.SameFile(got, want) {
				t.Errorf("%v, %v", err, lerr)
			}
			p.wantFiles(1)
		})
	}
}

// editLike changes the content of a file, and neither its size nor its time.
func editLike(file, text string) error {
	info, err := os.Lstat(file)
	return errors.Join(err, os.WriteFile(file, []byte(text), 0o600), os.Chtimes(file, info.ModTime(), info.ModTime()))
}

// TestSwapOfAFileThatIsWritten: an agent that has a copy open for writing writes into the file that is at its name.
func TestSwapOfAFileThatIsWritten(t *testing.T) {
	p := newPair(t)
	p.write(p.project, "f", "text", 0)
	old := p.copied("f")
	p.write(p.project, "f", "newer", 0)
	_, sum, err := p.stageNew("f", fsx.ContentCopied)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(p.workspace, "f"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if runtime.GOOS != "linux" {
		t.Skip("this system does not tell who writes")
	}
	err = p.swap(old, sum)
	if _, werr := f.WriteString("mine"); werr != nil {
		t.Fatal(werr)
	}
	if _, isSkipped := errors.AsType[*SkipError](err); !isSkipped || p.text("f") != "mine" {
		t.Errorf("%v: %q", err, p.text("f"))
	}
	p.wantFiles(1)
}

// TestPutBackOverAnEdit: if an agent has written the new file, too, both edits are there afterwards.
func TestPutBackOverAnEdit(t *testing.T) {
	p := newPair(t)
	stage := stageName("f") + Digest([]byte("newer"))
	p.write(p.workspace, stage, "first", 0)
	p.write(p.workspace, "f", "second", 0)
	kept, err := p.putBack("f", stage, Digest([]byte("newer")))
	if err != nil || p.text("f")+p.text(kept) != "firstsecond" {
		t.Errorf("%v: %q, %q has %q", err, p.text("f"), kept, p.text(kept))
	}
	p.wantFiles(2)
}

// TestPutBackOfAFileThatIsWritten: an agent that has opened the new file before an edit goes back to its name writes into one
// that is kept.
func TestPutBackOfAFileThatIsWritten(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system does not tell who writes")
	}
	p := newPair(t)
	stage := stageName("f") + Digest([]byte("newer"))
	p.write(p.workspace, stage, "first", 0)
	p.write(p.workspace, "f", "newer", 0)
	f, err := os.OpenFile(filepath.Join(p.workspace, "f"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	kept, err := p.putBack("f", stage, Digest([]byte("newer")))
	if _, werr := f.WriteString("later"); errors.Join(err, werr) != nil {
		t.Fatal(errors.Join(err, werr))
	}
	if kept == "" || p.text("f") != "first" || p.text(kept) != "later" {
		t.Errorf("%q has %q, f %q", kept, p.text(kept), p.text("f"))
	}
	p.wantFiles(2)
}

// TestPutBackWithoutTheNewFile: if an agent has deleted the new file, its earlier edit is at its name again.
func TestPutBackWithoutTheNewFile(t *testing.T) {
	p := newPair(t)
	stage := stageName("f") + Digest([]byte("newer"))
	p.write(p.workspace, stage, "first", 0)
	if kept, err := p.putBack("f", stage, Digest([]byte("newer"))); err != nil || kept != "" {
		t.Errorf("%q, %v", kept, err)
	}
	if p.text("f") != "first" {
		t.Errorf("%q", p.text("f"))
	}
	p.wantFiles(1)
}

// TestRenewOfWhatTheProjectHasNow: a file that became a link is left, and one that grew has no digest any more.
func TestRenewOfWhatTheProjectHasNow(t *testing.T) {
	p := newPair(t)
	p.write(p.project, "f", "text", 0)
	old := p.copied("f")
	file := filepath.Join(p.project, "f")
	if err := errors.Join(os.Remove(file), os.Symlink("g", file)); err != nil {
		t.Fatal(err)
	}
	if skip, isSkipped := errors.AsType[*SkipError](errOf(p.Renew(old, fsx.ContentCopied))); !isSkipped || skip.Why != croft.SkipChanging {
		t.Errorf("a link: %+v", skip)
	}
	if p.text("f") != "text" {
		t.Errorf("%q", p.text("f"))
	}
	p.wantFiles(1)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	p.write(p.project, "f", strings.Repeat("x", smallFile+1), 0)
	fresh, err := p.Renew(old, fsx.ContentCopied)
	if err != nil || fresh.Sum != "" || fresh.Size != smallFile+1 || len(p.text("f")) != smallFile+1 {
		t.Errorf("%+v, %v", fresh, err)
	}
	p.wantFiles(1)
}

// TestRenewLosesNoWrite: what an agent writes at any moment of a renewal is in the file afterwards, or in the one that is
// told: into a file that it opens and empties, that it puts in the place of the other, or that it has open for some time.
func TestRenewLosesNoWrite(t *testing.T) {
	kinds := []func(file, edit string, wait func()){
		func(file, edit string, wait func()) {
			wait()
			_ = os.WriteFile(file, []byte(edit), 0o600)
		},
		func(file, edit string, wait func()) {
			wait()
			_ = os.WriteFile(file+".tmp", []byte(edit), 0o600)
			_ = os.Rename(file+".tmp", file)
		},
	}
	if runtime.GOOS == "linux" { // other systems do not tell who writes
		kinds = append(kinds, func(file, edit string, wait func()) {
			f, err := os.OpenFile(file, os.O_WRONLY, 0)
			if err != nil {
				return
			}
			wait()
			_, _ = f.WriteString(edit)
			_ = f.Close()
		}, func(file, edit string, wait func()) {
			wait()
			f, err := os.OpenFile(file, os.O_WRONLY, 0)
			if err != nil {
				return
			}
			runtime.Gosched()
			_, _ = f.WriteString(edit)
			_ = f.Close()
		})
	}
	p := newPair(t)
	file := filepath.Join(p.workspace, "f")
	for i := range 400 {
		p.write(p.project, "f", "before "+strconv.Itoa(i), 0)
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		old := p.copied("f")
		p.write(p.project, "f", "after the change "+strconv.Itoa(i), 0)
		edit := "edit " + strconv.Itoa(i)
		var agent sync.WaitGroup
		agent.Go(func() {
			kinds[i%len(kinds)](file, edit, func() {
				for range i { // another moment each time
					_, _ = os.Lstat(file)
				}
			})
		})
		_, err := p.Renew(old, fsx.ContentCopied)
		agent.Wait()
		skip, isSkipped := errors.AsType[*SkipError](err)
		if err != nil && !isSkipped {
			t.Fatal(err)
		}
		got := p.text("f")
		if isSkipped && skip.Kept != "" {
			got += p.text(skip.Kept)
			_ = os.Remove(filepath.Join(p.workspace, skip.Kept))
		}
		if !strings.Contains(got, edit) {
			t.Fatalf("%s is lost: %q, %v", edit, got, err)
		}
		p.wantFiles(1)
	}
}

func errOf(_ Copy, err error) error { return err }

// TestRenewWithoutExchange: where two files cannot change places, a copy is moved aside first.
func TestRenewWithoutExchange(t *testing.T) {
	for name, test := range map[string]struct{ now, want string }{"unchanged": {"text", "newer"}, "edited": {"mine", "mine"}} {
		p := newPair(t)
		p.write(p.project, "f", "text", 0)
		old := p.copied("f")
		p.write(p.workspace, "f", test.now, 0)
		stage := stageName("f") + Digest([]byte("newer"))
		p.write(p.workspace, stage, "newer", 0)
		err := p.replace(old, stage)
		if _, isSkipped := errors.AsType[*SkipError](err); isSkipped != (test.want == "mine") || p.text("f") != test.want {
			t.Errorf("%s: %v: %q", name, err, p.text("f"))
		}
		p.wantFiles(1)
	}
}

// TestAsCopied: a file that is exactly the project's came from there; one of another time or content may be the agent's.
func TestAsCopied(t *testing.T) {
	p := newPair(t)
	p.write(p.project, "f", "text", 0)
	made := p.copied("f")
	if got, is := p.AsCopied("f"); !is || got != made {
		t.Errorf("%+v, %t", got, is)
	}
	p.write(p.workspace, "f", "mine", 0)
	if _, is := p.AsCopied("f"); is {
		t.Error("another content with the size and time")
	}
	p.write(p.workspace, "f", "text", 1)
	if _, is := p.AsCopied("f"); is {
		t.Error("another time")
	}
	for _, dir := range []string{p.project, p.workspace} {
		if err := os.Symlink("f", filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
	}
	if got, is := p.AsCopied("link"); !is || got.Link != "f" {
		t.Errorf("a link: %+v, %t", got, is)
	}
	link := filepath.Join(p.workspace, "link")
	if err := errors.Join(os.Remove(link), os.Symlink("mine", link)); err != nil {
		t.Fatal(err)
	}
	if _, is := p.AsCopied("link"); is {
		t.Error("a link to elsewhere")
	}
	large := strings.Repeat("x", smallFile)
	p.write(p.project, "large", large+"a", 0)
	p.write(p.workspace, "large", large+"a", 0)
	if got, is := p.AsCopied("large"); !is || got.Sum != "" {
		t.Errorf("a large file: %+v, %t", got, is)
	}
	p.write(p.workspace, "large", large+"b", 0)
	if _, is := p.AsCopied("large"); is {
		t.Error("a large file with another end")
	}
}
