package git

import (
	"slices"
	"strings"
)

// policy decides which programs that configuration names may run: those of the
// user's own configuration, and of the repository's only the filters that
// somebody allowed. The repository's configuration can be written by whoever
// works in one of its checkouts.
type policy struct {
	user    map[string]string // the user's own settings, by key
	allowed []string          // filters of the repository's that may run

	closed  [][2]string   // what overrides the repository's configuration
	first   []configEntry // the same for keys of which git takes the first value
	refused []string
}

// lfsCommands are what `git lfs install --local` writes. They run git-lfs and
// nothing else.
var lfsCommands = []string{
	"git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs smudge --skip -- %f",
	"git-lfs filter-process", "git-lfs filter-process --skip",
}

// signers are the programs that sign, by their key. Two of the keys are one
// setting.
var signers = map[string]string{
	"gpg.program": "gpg", "gpg.openpgp.program": "gpg", "gpg.x509.program": "gpgsm",
	"gpg.ssh.program": "ssh-keygen", "gpg.ssh.defaultkeycommand": "",
}

func newPolicy(entries []configEntry, allowed []string) *policy {
	p := &policy{user: map[string]string{}, allowed: allowed}
	for _, e := range entries {
		if e.ofUser() {
			p.user[e.key] = e.value
		}
	}
	if v, ok := p.user["gpg.program"]; ok && p.user["gpg.openpgp.program"] == "" {
		p.user["gpg.openpgp.program"] = v
	}
	for _, e := range entries {
		if e.ofRepository() {
			p.judge(e)
		}
	}
	return p
}

// judge closes what one setting of the repository's would run. The names in
// the middle of such keys are the repository's choice, so they are taken from
// there.
func (p *policy) judge(e configEntry) {
	if name, ok := subsection(e.key, "filter."); ok {
		p.judgeFilter(name, e)
	}
	if name, ok := subsection(e.key, "merge."); ok && strings.HasSuffix(e.key, ".driver") {
		p.close("merge."+name+".driver", "false")
	}
	if name, ok := subsection(e.key, "diff."); ok {
		p.close("diff."+name+".command", "")
		p.close("diff."+name+".textconv", "")
	}
	if name, ok := subsection(e.key, "hook."); ok {
		p.close("hook."+name+".enabled", "false")
	}
	if name, ok := subsection(e.key, "lfs.extension."); ok {
		p.close("lfs.extension."+name+".clean", "")
		p.close("lfs.extension."+name+".smudge", "")
	}
	if name, ok := subsection(e.key, "lfs.customtransfer."); ok {
		p.close("lfs.customtransfer."+name+".path", "")
	}
	if program, ok := signers[e.key]; ok {
		p.close(e.key, program)
	}
	if name, ok := subsection(e.key, "remote."); ok {
		p.pin("remote."+name+".uploadpack", "git-upload-pack")
		p.pin("remote."+name+".receivepack", "git-receive-pack")
	}
}

func (p *policy) judgeFilter(name string, e configEntry) {
	verb := strings.TrimPrefix(e.key, "filter."+name+".")
	own, has := p.user[e.key]
	switch {
	case verb != "clean" && verb != "smudge" && verb != "process",
		slices.Contains(p.allowed, name),
		has && own == e.value,
		name == "lfs" && slices.Contains(lfsCommands, e.value):
		return
	}
	p.close(e.key, "")
	known := false // the user has this filter too, and it still works
	for _, verb := range []string{"clean", "smudge", "process"} {
		_, has := p.user["filter."+name+"."+verb]
		known = known || has
	}
	if verb == "process" && !has && known {
		// Even an empty process hides the other two, and then files would go
		// through as they are.
		p.closed = append(p.closed, [2]string{"filter." + name + ".required", "true"})
		known = false
	}
	if !known && !slices.Contains(p.refused, name) {
		p.refused = append(p.refused, name)
	}
}

// close gives a key the value that the user has for it, or a harmless one.
func (p *policy) close(key, harmless string) {
	if v, ok := p.user[key]; ok {
		harmless = v
	}
	if kv := [2]string{key, harmless}; !slices.Contains(p.closed, kv) {
		p.closed = append(p.closed, kv)
	}
}

// pin is close for keys of which git takes the first value that it reads, so
// that they have to stand in the user's file, before the repository's.
func (p *policy) pin(key, harmless string) {
	if v, ok := p.user[key]; ok {
		harmless = v
	}
	if e := (configEntry{key: key, value: harmless}); !slices.Contains(p.first, e) {
		p.first = append(p.first, e)
	}
}

// offline are the settings of calls that have no business with the network.
// Such a call may still fetch objects that a partial clone lacks.
var offline = [][2]string{{"core.sshCommand", "ssh"}, {"core.askPass", ""}, {"credential.helper", ""}}

// credentials are the programs by which the user, and nobody else, answers
// when a server asks who is there.
func (p *policy) credentials(entries []configEntry, sshAskPass string) [][2]string {
	either := func(value, otherwise string) string {
		if value == "" {
			return otherwise
		}
		return value
	}
	kv := [][2]string{
		{"core.sshCommand", either(p.user["core.sshcommand"], "ssh")},
		{"core.askPass", either(p.user["core.askpass"], sshAskPass)},
		{"credential.helper", ""}, // this ends the list that came before
	}
	for _, e := range entries {
		if e.ofUser() && strings.HasPrefix(e.key, "credential.") && strings.HasSuffix(e.key, ".helper") {
			kv = append(kv, [2]string{e.key, e.value})
		}
	}
	return kv
}
