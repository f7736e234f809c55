package servicetest

import "github.com/croft-sh/croft/servicetest/harness"

// withLayout says of each group which scenarios know where the engine has its files.
func withLayout(groups []group) []group {
	names := map[string][]string{
		"Agents":     {"PathAndBranch"},
		"AllOrNone":  {"PathTaken"},
		"Clean":      {"All"},
		"Conditions": {"Gone"},
		"Create":     {"Default", "PathTaken"},
		"Doctor":     {"RegistrationGone", "PinMoved", "TouchesNothingForeign"},
		"Lanes":      {"LastCommitIsLost"},
		"Lease":      {"Several", "CloseReleases"},
		"Limits":     {"MaxWorkersRace"},
		"List":       {"None", "BrokenIsShown", "Worktrees", "SurvivesGitsOwnUpkeep"},
		"Lock":       {"ByGit", "GitHonoursIt", "OwnLocksDoNotCount"},
		"Radar":      {"DisturbsNothing"},
		"Remove":     {"Clean", "BranchMovedElsewhere", "DirectoryGone", "DirectoryStripped", "UncommittedByForce", "TrashedWhole"},
		"Repos":      {"EnvironmentIsIgnored"},
		"Roles":      {"UsersOwnFileInMainShows"},
		"Scratch":    {"MadeAndExcluded", "ExcludedOnce"},
		"Sibling":    {"CreateAndTeardown"},
		"Swarm":      {"WorktreePath", "MultiAtomicity", "RoleHasWorktree", "RemoveAll", "FullCleanup"},
		"Trash":      {"RestoreWhole", "RegistrationWasGone"},
	}
	for i, g := range groups {
		list := names[g.name]
		if g.name == "Places" || g.name == "TrashUpkeep" {
			for _, s := range g.scenarios {
				list = append(list, s.name)
			}
		}
		groups[i] = g.needing(harness.Layout, list...)
	}
	return groups
}
