package help

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/screen"
	"github.com/spf13/cobra"
)

// line is a line of the help: words to type, and what they mean.
type line struct{ words, text string }

// group is a group of lines under a heading.
type group struct {
	title string
	rows  []line
}

// Summary says what the program is for.
const Summary = `Croft gives every coding agent a checkout and a branch of its own, and brings
its work back merged, checked, and so that it can be taken back.
`

// rootSections has the commands of a day, in the order of the day.
func rootSections() []group {
	return []group{
		{"Every day", []line{
			{"new NAME...", "make workspaces, all or none"},
			{"list", "who is where, and what each needs next"},
			{"sh, run, cd NAME", "a shell there, an agent there, your own shell there"},
			{"show, diff, logs", "how it stands, what it did, what was printed"},
			{"conflicts", "who will collide with whom"},
			{"merge NAME...", "bring work to its branch, checked"},
			{"remove NAME...", "to the trash; what takes what away: help removing"},
		}},
		{"Choose", []line{
			{"finish, save NAME", "say that its agent has ended; commit in between"},
			{"review, apply NAME", "take work by file and hunk"},
			{"discard NAME...", "work that is not wanted"},
			{"queue, push", "merges that wait; work to a remote"},
		}},
		{"Take back", []line{
			{"undo, history", "what you did last; what was done"},
			{"revert NAME", "a merge, out of its branch"},
			{"restore NAME, trash", "a workspace, out of the trash; what is in it"},
		}},
	}
}

// rootRows has the other commands, and the flags that all commands have.
func rootRows() []line {
	return []line{
		{"Several agents, one task", "session, round, role, agent, hold, stop, ports, pool"},
		{"Keep in order", "clean, reap, gc, doctor, lock, unlock, snapshot"},
		{"Set up", "init, config, provision, shell-init, completion"},
		{"Programs", "path, env, meta, events, serve, mcp, token, mounts"},
		{"Everywhere", "--help, --json, -C DIR, -q, --color, --set KEY=VALUE"},
	}
}

// NamedElsewhere are the commands that the help of the program leaves out: what calls them
// has their names, or the help of another command.
func NamedElsewhere() []string {
	return []string{"adopt", "hook", "repos", "schema", "uninstall", "version"}
}

// Note is what the help of a command says beside its text and its flags.
type Note struct {
	Without string // what it is about without a name
	Ends    string // how it ends
	IsGroup bool   // it does nothing but hold other commands
}

const (
	standIn      = "the workspace you stand in"
	exitNoSuch   = "Exit 3: there is no workspace of that name."
	exitRefused  = exitNoSuch + " 5: it would lose work, or somebody is at work there."
	exitNotAsked = "Exit 5: nobody could be asked, or something is in the way."
	comesBack    = "croft restore brings a workspace back, croft undo all of it."
)

// Notes are the notes of the commands, by their names.
func Notes() map[string]Note {
	notes := map[string]Note{
		"adopt":      {Without: "the worktree here", Ends: "Exit 0, also for what is a workspace already. 1: git has no such worktree, it is broken, or its name is taken."},
		"apply":      {Ends: "croft revert takes it back.\nExit 3: the target has changed a chosen file, or a check failed. 5: your own changes are in the way."},
		"cd":         {Without: standIn, Ends: "Exit 2: your shell lacks the function of shell-init. 3: there is no workspace of that name."},
		"clean":      {Ends: comesBack + "\n" + exitNotAsked},
		"completion": {Ends: "Exit 2: no such shell."},
		"conflicts":  {Ends: "Exit 0, also if workspaces will collide: --json has the pairs."},
		"diff":       {Without: standIn, Ends: exitNoSuch},
		"discard":    {Ends: comesBack + "\n" + exitRefused},
		"doctor":     {Ends: "Exit 0: nothing is left to mend. 1: something is."},
		"env":        {Without: standIn, Ends: exitNoSuch},
		"events":     {Ends: "Ctrl-C ends --follow.\nExit 3: the events after that cursor are not kept any more."},
		"finish":     {Without: standIn, Ends: "Exit 3: there is no workspace of that name, or its merge came to a conflict or a failing check. 5: something is in progress there."},
		"gc":         {Ends: "Exit 0, also if nothing was to be deleted."},
		"help":       {Without: "the help of the program", Ends: "Exit 2: no such command or topic."},
		"history":    {Ends: "croft undo takes back the first, croft undo ID another one."},
		"hold":       {Without: standIn, Ends: "Exit 3: there is no such workspace or lease."},
		"hook":       {Ends: "Exit 0, whatever happens, but for \"create\"."},
		"init":       {Ends: "Exit 0, also if a file is there already, which is left as it is. 4: a file cannot be read or written."},
		"list":       {Ends: "Exit 0, also if there is none. 4: not in a git repository."},
		"lock":       {Ends: exitNoSuch},
		"logs":       {Ends: "Exit 3: there is no such workspace, or nothing was printed."},
		"mcp":        {Ends: "Exit 4: not in a repository or a workspace."},
		"merge":      {Without: standIn, Ends: "Ctrl-C ends the waiting, and says what becomes of the merge. croft revert takes it back.\nExit 3: conflict or check failed. 5: your own changes are in the way."},
		"meta":       {Ends: exitNoSuch},
		"mounts":     {Without: standIn, Ends: exitNoSuch + " 4: git cannot work there in a container."},
		"new":        {Without: "one, with an invented name", Ends: "Exit 3: the name, the branch or the path is taken. 4: no room on the disk. 5: limits.max_workers is reached. In each case none was made."},
		"path":       {Without: standIn, Ends: exitNoSuch},
		"pool":       {Ends: "Exit 4: not in a git repository."},
		"ports":      {Without: "those of all workspaces", Ends: exitNoSuch},
		"provision":  {Without: standIn, Ends: "Exit 1: a step failed, or commands wait for approval. 6: with --check, something differs."},
		"push":       {Without: standIn, Ends: "Exit 3: there is no workspace or remote of that name. 4: the remote does not answer, or the tool is not there. 5: nobody has accepted the remote, or it refuses, or has commits that the workspace lacks."},
		"reap":       {Ends: comesBack + "\n" + exitNotAsked},
		"remove":     {Ends: comesBack + " \"croft help removing\" says which command takes what away.\n" + exitRefused},
		"repos":      {Ends: "Exit 0."},
		"restore":    {Ends: "Exit 3: nothing in the trash is called so, or its path or branch is taken."},
		"revert":     {Ends: "Exit 3: nothing was merged, or what came after collides with it. 5: your own changes are in the way."},
		"review":     {Without: standIn, Ends: "Exit 3: there is no workspace of that name, or the target has changed a chosen file."},
		"run":        {Without: standIn, Ends: "Ctrl-C goes to the agent.\nExit: that of the agent, or of what came after it."},
		"save":       {Without: standIn, Ends: exitNoSuch + " 5: something is in progress there."},
		"schema":     {Without: "a list of the schemas", Ends: "Exit 2: there is no such schema."},
		"serve":      {Ends: "Exit 3: a daemon runs already. 4: it cannot listen."},
		"sh":         {Without: standIn, Ends: "Exit: that of the shell. 3: there is no workspace of that name."},
		"shell-init": {Ends: "Exit 2: no such shell."},
		"show":       {Without: standIn, Ends: exitNoSuch},
		"snapshot":   {Without: standIn, Ends: exitNoSuch},
		"stop":       {Without: standIn, Ends: "Exit 3: there is no such workspace, or no agent runs there."},
		"trash":      {Ends: "croft restore NAME brings one back. Exit 0, also if it is empty."},
		"undo":       {Without: "your last act; of croft redo, the last undo", Ends: "Exit 3: there is no such act, or it cannot be taken back. 5: nobody could be asked."},
		"uninstall":  {Ends: exitNotAsked},
		"unlock":     {Ends: exitNoSuch},
		"version":    {Ends: "Exit 0."},
	}
	maps.Copy(notes, notesOfGroups())
	return notes
}

// notesOfGroups are the notes of commands that hold others, and of those.
func notesOfGroups() map[string]Note {
	return map[string]Note{
		"agent":         {IsGroup: true},
		"agent report":  {Ends: exitNoSuch},
		"config":        {Without: "show the settings that are not as they are by default", Ends: "Exit 4: a file cannot be read, or says what cannot be."},
		"config accept": {Ends: "Exit 5: there is a difference, and it was not accepted."},
		"config get":    {Ends: "Exit 2: there is no such setting."},
		"config schema": {Ends: "Exit 0."},
		"config set":    {Ends: "Exit 4: there is no such setting, or it cannot be that there; or the file cannot be read or written."},
		"config trust":  {Without: "the checks of the project", Ends: "Exit 5: they are not approved."},
		"queue":         {Without: "list what waits", Ends: "Exit 0, also if nothing waits."},
		"queue accept":  {Ends: "Exit 3: there is no such branch, or it is called from inside of a workspace."},
		"queue cancel":  {Without: "all that wait", Ends: "Exit 3: nothing of that name waits. 5: nobody could be asked."},
		"queue first":   {Ends: "Exit 3: nothing of that name waits."},
		"queue hold":    {Without: "all that wait", Ends: "Exit 3: nothing of that name waits."},
		"queue release": {Without: "all that are held", Ends: "Exit 3: nothing of that name waits."},
		"queue run":     {Ends: "Ctrl-C ends the driving; what waits stays in the queue.\nExit 3: a merge came to a conflict or a failing check."},
		"role":          {IsGroup: true},
		"role update":   {Without: standIn, Ends: "Exit 2: the workspace has no role. 3: there is no workspace of that name."},
		"round":         {IsGroup: true},
		"round archive": {Without: standIn, Ends: exitNoSuch},
		"round end":     {Ends: "Exit 3: there is no such session or round, or it is busy."},
		"round present": {Ends: "Exit 3: there is no such session or agent."},
		"round prompt":  {Without: standIn, Ends: exitNoSuch},
		"round start":   {Ends: "Exit 3: there is no such session, or its last round goes on. In each case none was made."},
		"session":       {Without: "list the open sessions", Ends: "Exit 0, also if there is none."},
		"session end":   {Ends: "Exit 3: there is no such session, or it is over."},
		"session list":  {Ends: "Exit 0, also if there is none."},
		"session start": {Without: "an invented name", Ends: "Exit 3: there is an open session of that name."},
		"token":         {Without: "list the tokens", Ends: "Exit 0, also if there is none."},
		"token list":    {Ends: "Exit 0, also if there is none."},
		"token new":     {Ends: "Exit 2: there is no such access. 3: there is no workspace of that name."},
		"token revoke":  {Ends: "Exit 3: there is no such token."},
	}
}

// Key is the name of a command with its parents', without the program's.
func Key(cmd *cobra.Command) string {
	names := []string{}
	for at := cmd; at.HasParent(); at = at.Parent() {
		names = append(names, at.Name())
	}
	slices.Reverse(names)
	return strings.Join(names, " ")
}

// commandEnds says how a command ends, and under which other names it is called.
func commandEnds(cmd *cobra.Command) string {
	ends := Notes()[Key(cmd)].Ends
	if len(cmd.Aliases) > 0 {
		ends += "\nAlso called: " + strings.Join(cmd.Aliases, ", ") + "."
	}
	return strings.TrimPrefix(ends, "\n")
}

// TopicRemoving is the topic of the help that says which command takes what away.
const TopicRemoving = "removing"

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
		{"reap", "its agent is gone (orphan)", "kept if it is nowhere else", "trash", "always"},
		{"gc", "disk space", "kept 30 more days as commits and snapshot", "deleted after 7 days in the trash", ""},
	}
}

func (p printer) removing() string {
	var b strings.Builder
	b.WriteString("Which command takes what away. What it takes goes to the trash first.\n")
	for _, row := range RemovingRows() {
		b.WriteString("\n" + p.to.Paint(padded(row.Command, 10), screen.Cyan) + row.For + "\n")
		for _, field := range []line{{"the work", row.Work}, {"directory and branch", row.Directory}, {"asks", cmp.Or(row.Asks, "no")}} {
			b.WriteString("  " + p.to.Paint(padded(field.words, 22), screen.Dim) + field.text + "\n")
		}
	}
	b.WriteString("\n" + comesBack + "\n")
	return b.String()
}
