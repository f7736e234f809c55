package cli

import (
	"context"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/agentfile"
)

// FileOutcome says what became of a file of an agent's host.
type FileOutcome string

// The outcomes.
const (
	FileWritten FileOutcome = "written" // it was made
	FileChanged FileOutcome = "changed" // what is Croft's was added; all other bytes stayed
	FileThere   FileOutcome = "there"   // it needed no change
	FileRemoved FileOutcome = "removed" // what is Croft's was taken out of it; a file that had nothing else is gone
	FileLeft    FileOutcome = "left"    // it was not touched; why says the reason
)

// initMCPFile is a file of an agent's host.
type initMCPFile struct {
	Path    string      `json:"path"` // in the project
	Outcome FileOutcome `json:"outcome"`
	Why     string      `json:"why,omitempty"`
}

// runInitMCP tells the hosts of agents of the server of tools, by files of the project.
func (a *app) runInitMCP(ctx context.Context, svc repoFinder) error {
	repo, err := svc.Repo(ctx, croft.RepoRequest{Repo: a.dir()})
	if err != nil {
		return err
	}
	if repo.IsBare {
		return &croft.Error{Code: croft.Unsupported, Op: "init", Message: "a bare repository has no checkout for the files of agents", Hint: "croft new"}
	}
	root, err := os.OpenRoot(repo.Path)
	if err != nil {
		return &croft.Error{Code: croft.NotWritable, Op: "init", Message: "the project's directory could not be opened", Details: err.Error(), Err: err}
	}
	defer root.Close()
	result := initResult{Path: filepath.Join(repo.Path, configFile)}
	for _, f := range agentfile.Servers() {
		outcome, why, err := f.Update(root)
		if err != nil {
			return &croft.Error{Code: croft.NotWritable, Op: "init", Message: f.Path + " could not be written, and is as it was", Details: err.Error(), Err: err}
		}
		result.Files = append(result.Files, initMCPFile{f.Path, FileOutcome(outcome), why})
	}
	if a.json {
		a.emit(result)
		return nil
	}
	for _, f := range result.Files {
		switch f.Outcome {
		case FileWritten, FileChanged:
			a.printLine(f.Path)
		case FileThere:
			a.note("%s has the server already", f.Path)
		default:
			a.note("%s was left as it is: %s", f.Path, f.Why)
		}
	}
	return nil
}
