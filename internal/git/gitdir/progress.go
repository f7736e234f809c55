package gitdir

import "io/fs"

// ProgressFiles and ProgressDirs are the files and directories of a git directory that
// belong to an operation in progress, such as a merge or a rebase.
var (
	ProgressFiles = []string{
		"MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "MERGE_RR", "AUTO_MERGE", "MERGE_AUTOSTASH", "CHERRY_PICK_HEAD", "REVERT_HEAD",
		"REBASE_HEAD", "ORIG_HEAD", "SQUASH_MSG", "BISECT_LOG", "BISECT_START", "BISECT_NAMES", "BISECT_TERMS", "BISECT_EXPECTED_REV",
		"BISECT_ANCESTORS_OK", "BISECT_FIRST_PARENT", "logs/HEAD",
	}
	ProgressDirs = []string{"rebase-merge", "rebase-apply", "sequencer"}
)

// ProgressPaths lists the files of operations in progress in a git directory.
func ProgressPaths(dir fs.FS) []string {
	var list []string
	for _, name := range ProgressFiles {
		if _, err := fs.Stat(dir, name); err == nil {
			list = append(list, name)
		}
	}
	for _, top := range ProgressDirs {
		_ = fs.WalkDir(dir, top, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				list = append(list, name)
			}
			return nil
		})
	}
	return list
}
