package cli

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// helpRow is a line of the help: words to type, and what they mean.
type helpRow struct{ words, text string }

// helpSection is a group of lines under a heading.
type helpSection struct {
	title string
	rows  []helpRow
}

const rootSummary = `Croft gives every coding agent a checkout and a branch of its own, and brings
its work back merged, checked, and so that it can be taken back.
`

// rootSections has the commands of a day, in the order of the day.
func rootSections() []helpSection {
	return []helpSection{
		{"Every day", []helpRow{
			{"new NAME...", "make workspaces, all or none"},
			{"list", "who is where, and what each needs next"},
			{"sh, run, cd NAME", "a shell there, an agent there, your own shell there"},
			{"show, diff, logs", "how it stands, what it did, what was printed"},
			{"conflicts", "who will collide with whom"},
			{"merge NAME...", "bring work to its branch, checked"},
			{"remove NAME...", "move workspaces to the trash"},
		}},
		{"Choose", []helpRow{
			{"finish, save NAME", "say that its agent has ended; commit in between"},
			{"review, apply NAME", "take work by file and hunk"},
			{"discard NAME...", "work that is not wanted"},
			{"queue, push", "merges that wait; work to a remote"},
		}},
		{"Take back", []helpRow{
			{"undo, history", "what you did last; what was done"},
			{"revert NAME", "a merge, out of its branch"},
			{"restore NAME, trash", "a workspace, out of the trash; what is in it"},
		}},
	}
}

// rootRows has the other commands, and the flags that all commands have.
func rootRows() []helpRow {
	return []helpRow{
		{"Several agents, one task", "session, round, role, agent, hold, stop, ports, pool"},
		{"Keep in order", "clean, reap, gc, doctor, lock, unlock, snapshot"},
		{"Set up", "init, config, provision, shell-init, completion"},
		{"Programs", "path, env, meta, events, serve, mcp, token, mounts"},
		{"Everywhere", "--help, --json, -C DIR, -q, --color, --set KEY=VALUE"},
	}
}

// namedElsewhere are the commands that the help of the program leaves out: what calls them
// has their names, or the help of another command.
func namedElsewhere() []string {
	return []string{"adopt", "help", "hook", "repos", "schema", "uninstall", "version"}
}

// helpNote is what the help of a command says beside its text and its flags.
type helpNote struct {
	without string // what it is about without a name
	ends    string // how it ends
	isGroup bool   // it does nothing but hold other commands
}

const (
	standIn      = "the workspace you stand in"
	exitNoSuch   = "Exit 3: there is no workspace of that name."
	exitRefused  = exitNoSuch + " 5: it would lose work, or somebody is at work there."
	exitNotAsked = "Exit 5: nobody could be asked, or something is in the way."
	comesBack    = "croft restore brings a workspace back, croft undo all of it."
)

// helpNotes are the notes of the commands, by their names.
func helpNotes() map[string]helpNote {
	notes := map[string]helpNote{
		"adopt":      {without: "the worktree here", ends: "Exit 3: it is a workspace already. 5: it is not the project's, or is broken."},
		"apply":      {ends: "croft revert takes it back.\nExit 3: the target has changed a chosen file, or a check failed. 5: your own changes are in the way."},
		"cd":         {without: standIn, ends: exitNoSuch},
		"clean":      {ends: comesBack + "\n" + exitNotAsked},
		"completion": {ends: "Exit 2: no such shell."},
		"conflicts":  {ends: "Exit 0, also if workspaces will collide: --json has the pairs."},
		"diff":       {without: standIn, ends: exitNoSuch},
		"discard":    {ends: comesBack + "\n" + exitRefused},
		"doctor":     {ends: "Exit 0: nothing is left to mend. 1: something is."},
		"env":        {without: standIn, ends: exitNoSuch},
		"events":     {ends: "Ctrl-C ends --follow.\nExit 3: the events after that cursor are not kept any more."},
		"finish":     {without: standIn, ends: "Exit 3: there is no workspace of that name, or its merge came to a conflict or a failing check."},
		"gc":         {ends: "Exit 0, also if nothing was to be deleted."},
		"help":       {without: "the help of the program", ends: "Exit 2: no such command or topic."},
		"history":    {ends: "croft undo takes back the first, croft undo ID another one."},
		"hold":       {without: standIn, ends: "Exit 3: there is no such workspace or lease."},
		"hook":       {ends: "Exit 0, whatever happens, but for \"create\"."},
		"init":       {ends: "Exit 3: the file is there already. 4: a file cannot be read or written."},
		"list":       {ends: "Exit 0, also if there is none. 4: not in a git repository."},
		"lock":       {ends: exitNoSuch},
		"logs":       {ends: "Exit 3: there is no such workspace, or nothing was printed."},
		"mcp":        {ends: "Exit 4: not in a repository or a workspace."},
		"merge":      {without: standIn, ends: "Ctrl-C ends the waiting, not the merge. croft revert takes it back.\nExit 3: conflict or check failed. 5: your own changes are in the way."},
		"meta":       {ends: exitNoSuch},
		"mounts":     {without: standIn, ends: exitNoSuch + " 4: git cannot work there in a container."},
		"new":        {without: "one, with an invented name", ends: "Exit 3: the name, the branch or the path is taken. 4: no room on the disk. 5: limits.workspaces is reached. In each case none was made."},
		"path":       {without: standIn, ends: exitNoSuch},
		"pool":       {ends: "Exit 4: not in a git repository."},
		"ports":      {without: "those of all workspaces", ends: exitNoSuch},
		"provision":  {without: standIn, ends: "Exit 1: a step failed. 5: commands wait for approval. 6: with --check, something differs."},
		"push":       {without: standIn, ends: "Exit 4: the remote or the tool is not there. 5: the remote refuses, or has commits that the workspace lacks."},
		"reap":       {ends: comesBack + "\n" + exitNotAsked},
		"remove":     {ends: comesBack + " \"croft help removing\" says which command takes what away.\n" + exitRefused},
		"repos":      {ends: "Exit 0."},
		"restore":    {ends: "Exit 3: nothing in the trash is called so, or its path or branch is taken."},
		"revert":     {ends: "Exit 3: nothing was merged, or what came after collides with it. 5: your own changes are in the way."},
		"review":     {without: standIn, ends: "Exit 3: there is no workspace of that name, or the target has changed a chosen file."},
		"run":        {without: standIn, ends: "Ctrl-C goes to the agent.\nExit: that of the agent, or of what came after it."},
		"save":       {without: standIn, ends: exitNoSuch + " 5: something is in progress there."},
		"schema":     {without: "a list of the schemas", ends: "Exit 2: there is no such schema."},
		"serve":      {ends: "Exit 3: a daemon runs already. 4: it cannot listen."},
		"sh":         {without: standIn, ends: "Exit: that of the shell. 3: there is no workspace of that name."},
		"shell-init": {ends: "Exit 2: no such shell."},
		"show":       {without: standIn, ends: exitNoSuch},
		"snapshot":   {without: standIn, ends: exitNoSuch},
		"stop":       {without: standIn, ends: "Exit 3: there is no such workspace, or no agent runs there."},
		"trash":      {ends: "croft restore NAME brings one back. Exit 0, also if it is empty."},
		"undo":       {without: "your last act; of croft redo, the last undo", ends: "Exit 3: there is no such act, or it cannot be taken back. 5: nobody could be asked."},
		"uninstall":  {ends: exitNotAsked},
		"unlock":     {ends: exitNoSuch},
		"version":    {ends: "Exit 0."},
	}
	maps.Copy(notes, helpNotesOfGroups())
	return notes
}

// helpNotesOfGroups are the notes of commands that hold others, and of those.
func helpNotesOfGroups() map[string]helpNote {
	return map[string]helpNote{
		"agent":         {isGroup: true},
		"agent report":  {ends: exitNoSuch},
		"config":        {without: "show every setting", ends: "Exit 4: a file cannot be read, or says what cannot be."},
		"config accept": {ends: "Exit 5: there is a difference, and it was not accepted."},
		"config schema": {ends: "Exit 0."},
		"config trust":  {without: "the checks of the project", ends: "Exit 5: they are not approved."},
		"queue":         {without: "list what waits", ends: "Exit 0, also if nothing waits."},
		"queue accept":  {ends: "Exit 3: there is no such branch. 5: called from inside of a workspace."},
		"queue cancel":  {without: "all that wait", ends: "Exit 3: nothing of that name waits. 5: nobody could be asked."},
		"queue first":   {ends: "Exit 3: nothing of that name waits."},
		"queue hold":    {without: "all that wait", ends: "Exit 3: nothing of that name waits."},
		"queue release": {without: "all that are held", ends: "Exit 3: nothing of that name waits."},
		"queue run":     {ends: "Ctrl-C ends the driving; what waits stays in the queue.\nExit 3: a merge came to a conflict or a failing check."},
		"role":          {isGroup: true},
		"role update":   {without: standIn, ends: "Exit 3: there is no such workspace or role."},
		"round":         {isGroup: true},
		"round archive": {without: standIn, ends: exitNoSuch},
		"round end":     {ends: "Exit 3: there is no such session or round, or it is busy."},
		"round present": {ends: "Exit 3: there is no such session or agent."},
		"round prompt":  {without: standIn, ends: exitNoSuch},
		"round start":   {ends: "Exit 3: there is no such session, or its last round goes on. In each case none was made."},
		"session":       {without: "list the open sessions", ends: "Exit 0, also if there is none."},
		"session end":   {ends: "Exit 3: there is no such session, or it is over."},
		"session list":  {ends: "Exit 0, also if there is none."},
		"session start": {without: "an invented name", ends: "Exit 3: there is an open session of that name."},
		"token":         {without: "list the tokens", ends: "Exit 0, also if there is none."},
		"token list":    {ends: "Exit 0, also if there is none."},
		"token new":     {ends: "Exit 2: the access or the workspace is no good."},
		"token revoke":  {ends: "Exit 3: there is no such token."},
	}
}

// commandKey is the name of a command with its parents', without the program's.
func commandKey(cmd *cobra.Command) string {
	names := []string{}
	for at := cmd; at.HasParent(); at = at.Parent() {
		names = append(names, at.Name())
	}
	slices.Reverse(names)
	return strings.Join(names, " ")
}

// commandEnds says how a command ends, and under which other names it is called.
func commandEnds(cmd *cobra.Command) string {
	ends := helpNotes()[commandKey(cmd)].ends
	if len(cmd.Aliases) > 0 {
		ends += "\nAlso called: " + strings.Join(cmd.Aliases, ", ") + "."
	}
	return strings.TrimPrefix(ends, "\n")
}

// topicRemoving is the topic of the help that says which command takes what away.
const topicRemoving = "removing"

// RemovingRow says what a command takes away, and what it leaves.
type RemovingRow struct{ Command, For, Work, Directory, Asks string }

// RemovingRows is the table of what takes what away.
func RemovingRows() []RemovingRow {
	return []RemovingRow{
		{"finish", "the agent has ended", "committed to its own branch", "stay", ""},
		{"merge", "it is wanted", "goes to the target, checked", "trash, unless --keep", ""},
		{"discard", "it is not wanted", "stays in the trash only", "trash", "if not named"},
		{"remove", "the workspace is not needed", "as it is", "trash", "if not committed"},
		{"clean", "tidy up", "only what is in the target already", "trash", "always"},
		{"reap", "its agent died", "kept if it is nowhere else", "trash", "always"},
		{"gc", "disk space", "kept 30 more days as commits and snapshot", "deleted after 7 days in the trash", ""},
	}
}

// removingHelp is the topic "removing": the table, in lines that fit a terminal.
func (a *app) removingHelp() string {
	var b strings.Builder
	b.WriteString("Which command takes what away. What it takes goes to the trash first.\n")
	for _, row := range RemovingRows() {
		b.WriteString("\n" + a.paintText(padded(row.Command, 10), styleCyan) + row.For + "\n")
		for _, field := range []helpRow{{"the work", row.Work}, {"directory and branch", row.Directory}, {"asks", cmp.Or(row.Asks, "no")}} {
			b.WriteString("  " + a.paintText(padded(field.words, 22), styleDim) + field.text + "\n")
		}
	}
	b.WriteString("\n" + comesBack + "\n")
	return b.String()
}
