package main_test

import (
	"fmt"
	"strings"
)

// What stories begin with. Each is a script for sh, in the project.
const (
	// checks are two, committed and approved.
	checks = `printf '[merge]\nchecks = ["go vet ./...", "go test ./..."]\n' >croft.toml
git add croft.toml && git commit -qm checks
CROFT_TRUST=$(croft config trust -n 2>&1 | sed -n 's/^CROFT_TRUST=//p') croft config trust >/dev/null
`
	// fleet is nine workspaces, in nine states.
	fleet = checks + `croft new -q flaky-tests search-index rate-limit dark-mode fix-login csv-export db-migration upgrade-deps api-docs
w=../app.croft
echo docs >$w/api-docs/docs.txt && croft merge -q --keep api-docs
printf 'mine\ntwo\nthree\nfour\nfive\n' >$w/search-index/src/f1.txt
printf 'yours\ntwo\nthree\nfour\nfive\n' >src/f1.txt && git commit -qam 'yours' && ! croft merge -q search-index
echo 101 >$w/rate-limit/src/limit.go && ! croft merge -q rate-limit
seq 41 >$w/dark-mode/dark.css && croft finish -q dark-mode --outcome failed
seq 9 >$w/flaky-tests/retry.txt
seq 128 >$w/fix-login/login.go && croft finish -q fix-login --no-merge
croft run -q --detach db-migration -- claude
seq 310 >$w/csv-export/export.csv
>~/hold
croft merge -q --no-wait csv-export
croft queue run >/dev/null 2>&1 &
until [ -n "$(croft list --state checking --names)" ]; do sleep 0.05; done
`
	// conflict is a workspace whose line was changed by the user.
	conflict = `croft new -q search-index
printf 'mine\ntwo\nthree\nfour\nfive\n' >../app.croft/search-index/src/f1.txt
printf 'yours\ntwo\nthree\nfour\nfive\n' >src/f1.txt && git commit -qam 'yours'
`
	// resolved is what resolves it.
	resolved = `cd ../app.croft/search-index && printf 'both\ntwo\nthree\nfour\nfive\n' >src/f1.txt && git add src/f1.txt`
	// dirty is a workspace with uncommitted work and with a commit.
	dirty = `croft new -q dark-mode && cd ../app.croft/dark-mode && echo dark >dark.css && git add . && git commit -qm dark && echo more >>src/f2.txt && echo new >new.css
`
)

// made is a script that makes workspaces, each with a file of its own and that many lines.
func made(lines int, names ...string) string {
	script := "croft new -q " + strings.Join(names, " ") + "\n"
	for _, name := range names {
		script += fmt.Sprintf("seq %d >../app.croft/%s/%[2]s.txt\n", lines, name)
	}
	return script
}

// stories are the screens of the command line.
func stories() []story {
	return append(append(append(storiesOfLists(), storiesOfMerges()...), storiesOfEnds()...), storiesOfErrors()...)
}

const full = "croft list --full" // croft alone looks at no more than it has the time for

func storiesOfLists() []story {
	long := strings.Repeat("upgrade-", 4) + "all-2026" // 40 characters
	return []story{
		{name: "new", acts: []act{
			{line: "croft"},
			{line: "croft", in: ".", exit: 4},
			{line: "croft new fix-login"},
			{line: "croft new csv-export db-migration search-index"},
			{line: "croft new a b fix-login c", exit: 3},
			{line: "croft new a b --target nosuch", exit: 3},
			{line: full},
		}},
		{name: "list", given: fleet, acts: []act{
			{line: full, widths: []int{60, 100, 120}},
			{line: full, in: "src/app.croft/fix-login"},
			{line: full + " -A"},
			{line: full + " | cat"},
			{line: "croft list --state conflict,check-failed"},
			{line: "croft queue"},
			{line: "croft show search-index"},
			{line: "croft show rate-limit"},
			{line: "croft show dark-mode"},
			{line: "croft show flaky-tests"},
			{line: "croft show fix-login"},
			{line: "croft show csv-export"},
			{line: "croft show db-migration"},
			{line: "croft show upgrade-deps"},
			{line: "croft show api-docs"},
			{line: "croft conflicts"},
			{line: "croft logs rate-limit"},
		}},
		{name: "names", given: made(3, "検索検索", long) + "seq 3 >../app.croft/検索検索/検索.txt", acts: []act{
			{line: full, widths: []int{60, 100, 120}},
			{line: "croft show 検索検索"},
			{line: "croft show " + long},
			{line: "croft diff --stat 検索検索"},
			{line: "croft merge " + long + " 検索検索"},
		}},
		{name: "watch", given: checks + made(310, "csv-export") + "croft new -q upgrade-deps && croft run -q --detach csv-export -- claude", acts: []act{
			{line: "croft list --watch", moments: []moment{
				{awaits: "working", keeps: true, sh: "echo done >~/work; until [ -n \"$(croft list --state pending --names)\" ]; do sleep 0.05; done; >~/hold; croft merge -q --keep --no-wait csv-export"},
				{awaits: "nobody drives", keeps: true, sh: "croft queue run >/dev/null 2>&1 &"},
				{awaits: "go vet", keeps: true, sh: "rm ~/hold"},
				{awaits: "merged", keeps: true, types: []string{"C-c"}},
			}},
		}},
		{name: "shown", given: made(2, "merged", "discarded", "removed", "reverted", "kept"), acts: []act{
			{line: "croft show merged", before: "croft merge -q merged"},
			{line: "croft show discarded", before: "croft discard -q discarded"},
			{line: "croft show removed", before: "croft remove -q -y removed"},
			{line: "croft show reverted", before: "croft merge -q reverted && croft revert -q reverted"},
			{line: "croft show kept", before: "croft merge -q --keep kept && croft lock -q kept --reason 'waiting for QA'"},
			{line: "croft trash"},
			{line: "croft history"},
			{line: "croft list --state removed,discarded,merged,reverted"},
		}},
		{name: "conflicts", given: `croft new -q $(seq -f w%02g 14)`, acts: []act{
			{line: "croft conflicts"},
			{line: "croft conflicts", before: `for n in 01 02 03; do echo $n >../app.croft/w$n/src/f1.txt; echo $n >../app.croft/w$n/src/f$n.txt; done; seq 3 >../app.croft/w04/alone.txt
echo yours >src/f2.txt && git commit -qam yours && echo mine >../app.croft/w03/src/f2.txt`},
			{line: full + " --state dirty"},
			{line: "croft conflicts", before: "for n in 01 02 03 04; do croft finish -q w$n; done"},
			{line: "croft conflicts 2>&1 | cat"},
			{line: "croft conflicts", before: `for n in $(seq -w 13); do echo $n >../app.croft/w$n/pair$((${n#0} / 2)).txt; croft finish -q w$n; done`},
		}},
	}
}

func storiesOfMerges() []story {
	return []story{
		{name: "merge", given: made(128, "fix-login", "dark-mode", "csv-export"), acts: []act{
			{line: "croft merge fix-login"},
			{line: "croft merge --keep dark-mode"},
			{line: "croft merge db-migration", before: "croft new -q db-migration"},
			{line: "croft merge api-docs", exit: 5, before: "croft new -q api-docs && echo docs >../app.croft/api-docs/src/f1.txt && echo yours >src/f1.txt"},
			{line: "croft show api-docs"},
			{line: "croft merge csv-export nosuch", exit: 3},
			{line: "croft merge --no-wait csv-export"},
			{line: "croft queue"},
			{line: "croft queue hold csv-export"},
			{line: "croft queue hold nosuch", exit: 3},
			{line: "croft queue"},
			{line: full},
			{line: "croft queue release csv-export"},
			{line: "croft queue cancel csv-export"},
			{line: "croft show fix-login"},
			{line: "croft undo -n"},
			{line: "croft history"},
		}},
		{name: "conflict", given: conflict, acts: []act{
			{line: "croft merge search-index", exit: 3},
			{line: "croft merge --resolve search-index"},
			{line: "croft show search-index"},
			{line: full, before: resolved},
			{line: "croft merge search-index"},
		}},
		{name: "checks", given: checks + made(14, "fix-login", "rate-limit", "flaky-tests", "csv-export", "db-migration", "search-index") + `echo 101 >../app.croft/rate-limit/src/limit.go; >../app.croft/flaky-tests/flaky.txt`, acts: []act{
			{line: "croft merge fix-login", before: ">~/hold", moments: []moment{{awaits: "go vet ./...", keeps: true, sh: "rm ~/hold"}}},
			{line: "croft merge flaky-tests"},
			{line: "croft merge rate-limit", exit: 3},
			{line: "croft logs rate-limit"},
			{line: "croft show rate-limit"},
			{line: "croft merge csv-export rate-limit db-migration", exit: 3},
			{line: "croft merge search-index", before: ">~/hold", exit: 130, moments: []moment{{awaits: "go vet ./...", types: []string{"C-c"}}}},
			{line: "croft queue"},
			{line: "croft queue run", before: "rm ~/hold"},
		}},
		{name: "approval", given: made(3, "fix-login", "dark-mode"), acts: []act{
			{line: "croft init"},
			{line: "croft merge fix-login", before: `printf '[merge]\nchecks = ["go vet ./...", "go test ./..."]\n' >croft.toml`},
			{line: "croft merge dark-mode", before: "git add croft.toml && git commit -qm checks", exit: 5},
			{line: "croft show dark-mode"},
			{line: "croft config trust -n"},
			{line: "croft config trust", moments: []moment{{awaits: "[y/N]", types: []string{"y", "Enter"}}}},
			{line: "croft config"},
			{line: "croft merge dark-mode"},
		}},
		{name: "target", given: checks + made(3, "fix-login") + "touch broken.txt && git add . && git commit -qm broken", acts: []act{
			{line: "croft merge fix-login", exit: 3},
			{line: "croft show fix-login"},
		}},
		{name: "revert", given: made(3, "upgrade-deps", "fix-login", "csv-export") + "printf 'mine\ntwo\nthree\nfour\nfive\n' >../app.croft/fix-login/src/f5.txt\ncroft merge -q upgrade-deps fix-login csv-export", acts: []act{
			{line: "croft revert upgrade-deps -n"},
			{line: "croft revert upgrade-deps"},
			{line: "croft revert fix-login", exit: 3, before: "printf 'yours\ntwo\nthree\nfour\nfive\n' >src/f5.txt && git commit -qam mine"},
			{line: "croft revert --resolve fix-login"},
			{line: "croft merge revert-fix-login", before: "cd ../app.croft/revert-fix-login && printf 'both\ntwo\nthree\nfour\nfive\n' >src/f5.txt && git add src/f5.txt"},
			{line: "croft history"},
		}},
	}
}

func storiesOfEnds() []story {
	yes := []moment{{awaits: "[y/N]", types: []string{"y", "Enter"}}}
	no := []moment{{awaits: "[y/N]", types: []string{"n", "Enter"}}}
	finished := made(2, "api-docs", "old-spike") + "croft merge -q --keep api-docs old-spike\n"
	idle := "croft new -q idle && " + made(3, "busy")
	return []story{
		{name: "remove", given: dirty, acts: []act{
			{line: "croft remove dark-mode -n"},
			{line: "croft remove dark-mode </dev/null", exit: 5},
			{line: "croft remove dark-mode", moments: no, exit: 5},
			{line: "croft remove dark-mode", moments: yes},
			{line: "croft restore dark-mode"},
			{line: "croft remove dark-mode -y"},
			{line: "croft trash"},
			{line: "croft restore dark-mode"},
			{line: "croft discard dark-mode"},
			{line: "croft undo", moments: no},
			{line: "croft undo </dev/null", exit: 5},
			{line: "croft undo -n"},
			{line: "croft undo", moments: yes},
			{line: "croft undo -y", exit: 5},
			{line: "croft history"},
		}},
		{name: "clean", given: finished, acts: []act{
			{line: "croft clean -n"},
			{line: "croft clean </dev/null", exit: 5},
			{line: "croft clean", moments: no},
			{line: "croft clean", moments: yes},
			{line: "croft clean"},
			{line: "croft undo -y"},
			{line: "croft clean -y"},
			{line: "croft gc"},
		}},
		{name: "reap", given: idle, acts: []act{
			{line: "croft reap -n"},
			{line: "croft reap --older-than 1ns -n"},
			{line: "croft reap --older-than 1ns </dev/null", exit: 5},
			{line: "croft reap --older-than 1ns", moments: no},
			{line: "croft reap --older-than 1ns", moments: yes},
			{line: "croft reap --older-than 1ns -y", before: "croft new -q other"},
		}},
		{name: "finish", given: made(31, "developer", "reviewer") + "echo KEY=1 >../app.croft/developer/.env.local", acts: []act{
			{line: "croft diff --stat developer"},
			{line: "croft finish developer"},
			{line: "croft finish reviewer --outcome failed"},
			{line: "croft finish idle", before: "croft new -q idle keys && echo KEY=1 >../app.croft/keys/.env.local"},
			{line: "croft finish idle --outcome failed"},
			{line: "croft finish keys"},
			{line: "croft run developer -- true"},
			{line: "croft doctor"},
			{line: "croft doctor", exit: 1, before: "mv ../app.croft/reviewer ../elsewhere"},
			{line: "croft show reviewer"},
		}},
		{name: "round", acts: []act{
			{line: "croft session start login-race"},
			{line: "croft round start login-race --agents agent1"},
			{line: full},
			{line: "croft round end login-race", before: "for dir in $(croft list --json | grep -o '\"path\":\"[^\"]*\"' | cut -d'\"' -f4); do echo work >$dir/work.txt; done"},
			{line: "croft round present login-race --winner agent1"},
			{line: "croft session"},
		}},
	}
}

func storiesOfErrors() []story {
	return []story{
		{name: "errors", given: made(3, "developer", "fix-login", "csv-export", "flaky-tests") + "croft merge -q csv-export && croft lock -q flaky-tests --reason 'waiting for QA'", acts: []act{
			{line: "croft show develper", exit: 3},
			{line: "croft remove develper", exit: 3},
			{line: "croft merge csv-export", exit: 3},
			{line: "croft lsit", exit: 2},
			{line: "croft log", exit: 2},
			{line: "croft stash", exit: 2},
			{line: "croft list --ful", exit: 2},
			{line: "croft list", in: ".", exit: 4},
			{line: "croft new developer", exit: 3},
			{line: "croft new reviewer", exit: 3, before: "git worktree add -q -b croft/reviewer ../app-old"},
			{line: "croft remove -y flaky-tests", exit: 5},
			{line: "croft remove -y fix-login", exit: 5, before: "croft run -q --detach fix-login -- claude"},
			{line: "croft merge </dev/null", exit: 2},
			{line: "croft new a b", exit: 5, before: "mkdir -p ~/.config/croft; printf '[limits]\\nmax_workers = 3\\n' >~/.config/croft/config.toml"},
			{line: "croft list --full", before: "rm ~/.config/croft/config.toml; printf '[merge]\nchekcs = [\"a\"]\n' >croft.toml; git add croft.toml; git commit -qm c"},
		}},
		{name: "help", isHelp: true, acts: []act{
			{line: "croft --help"},
			{line: "croft merge --help"},
			{line: "for c in $(croft __complete '' 2>/dev/null | cut -f1 | grep '^[a-z]'); do croft $c --help; done"},
		}},
		{name: "picker", given: made(12, "fix-login", "csv-export") + "croft new -q empty locked gone && croft lock -q locked && echo x >../app.croft/gone/x && croft remove -q -y gone", acts: []act{
			{line: "croft merge", exit: 130, moments: []moment{{awaits: "esc leaves", keeps: true, types: []string{"Escape"}}}},
			{line: "seq 9; croft merge", exit: 130, moments: []moment{{awaits: "WHY", width: 60}, {awaits: "NAME        STATE  WORK", keeps: true, types: []string{"C-c"}}}},
			{line: "croft merge", moments: []moment{{awaits: "esc leaves", types: []string{"csv"}}, {awaits: "1 of 2", keeps: true, types: []string{"Enter"}}}},
			{line: "croft restore", moments: []moment{{awaits: "esc leaves", keeps: true, types: []string{"Enter"}}}},
			{line: "croft unlock", moments: []moment{{awaits: "esc leaves", keeps: true, types: []string{"Enter"}}}},
		}},
	}
}
