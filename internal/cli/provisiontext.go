package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/screen"
)

// noteProvision remarks once for each text what was done to make new workspaces usable. A workspace is named
// only where others got something else.
func (a *app) noteProvision(workspaces ...croft.Workspace) {
	var lines []string
	of := map[string][]string{}
	for _, ws := range workspaces {
		for _, line := range provisionLines(ws.Provision) {
			if len(of[line]) == 0 {
				lines = append(lines, line)
			}
			of[line] = append(of[line], ws.Name)
		}
	}
	for _, line := range lines {
		if len(of[line]) < len(workspaces) {
			line = strings.Join(of[line], ", ") + ": " + line
		}
		if a.isShown() {
			a.remarkText(screen.Span{Text: line, Style: styleDim})
			continue
		}
		a.note("%s", line)
	}
}

// noteSetupNext shows the last output of the commands that failed in new workspaces, and says what to run where
// commands failed or wait for approval.
func (a *app) noteSetupNext(workspaces ...croft.Workspace) {
	var next, failed, hinted []string
	a.noteFailures(workspaces)
	for _, ws := range workspaces {
		if ws.Provision == nil {
			continue
		}
		switch ws.Provision.State {
		case croft.ProvisionUnapproved:
			if !slices.Contains(hinted, ws.Provision.Hash) { // one approval is for all with the same commands
				hinted = append(hinted, ws.Provision.Hash)
				next = append(next, "croft config trust --setup "+shellWord(ws.Name))
			}
		case croft.ProvisionPending:
			next = append(next, "croft provision "+shellWord(ws.Name))
		case croft.ProvisionFailed:
			failed = append(failed, "croft provision "+shellWord(ws.Name))
		}
	}
	slices.Sort(next)
	for _, command := range slices.Compact(next) {
		a.remarkNext(command)
	}
	slices.Sort(failed)
	for _, command := range slices.Compact(failed) {
		a.note("hint: %s", command)
	}
}

// noteFailures shows the end of what commands printed that failed, once where they printed the same in several workspaces.
func (a *app) noteFailures(workspaces []croft.Workspace) {
	type failure struct{ step, why, tail string }
	var order []failure
	names := map[failure][]string{}
	for _, ws := range workspaces {
		for _, step := range failedSteps(ws.Provision) {
			f := failure{step.Name, step.Why, step.Tail}
			if len(names[f]) == 0 {
				order = append(order, f)
			}
			names[f] = append(names[f], ws.Name)
		}
	}
	for _, f := range order {
		a.note("%s: %s failed: %s", strings.Join(names[f], ", "), f.step, f.why)
		if f.tail != "" {
			fmt.Fprintln(a.env.Stderr, strings.TrimRight(printableLines(f.tail), "\n"))
		}
	}
}

// provisionLines says what was done to make a workspace usable, a line for each kind.
func provisionLines(p *croft.Provision) []string {
	if p == nil {
		return nil
	}
	var lines, linked, filled []string
	for _, path := range p.Paths {
		if path.How == croft.ProvisionCheckout {
			filled = append(filled, printable(path.Path))
			continue
		}
		if path.How == croft.ProvisionLink {
			linked = append(linked, printable(path.Path))
			continue
		}
		if line := provisionedText(path); line != "" {
			lines = append(lines, line)
		}
		if len(path.Skipped) > 0 {
			lines = append(lines, skippedText(path))
		}
	}
	if len(linked) > 0 {
		lines = append(lines, "linked "+strings.Join(linked, ", ")+": what is written there is written in the project")
	}
	if len(filled) > 0 {
		lines = append(lines, "filled "+submodulesText(filled))
	}
	if n := p.WaitingVariables(); n > 0 {
		lines = append(lines, waitingVariables(n))
	}
	if p.State != croft.ProvisionReady && !p.WaitsForVariablesOnly() {
		lines = append(lines, strings.TrimSuffix(string(p.State)+": "+p.Why, ": "))
	}
	return lines
}

// waitingVariables says how many variables are not set.
func waitingVariables(n int) string {
	if n == 1 {
		return "1 variable of croft.toml waits for your approval"
	}
	return fmt.Sprintf("%d variables of croft.toml wait for your approval", n)
}

// noteVariables says which of a workspace's variables its shell or its agent does not have, and what sets them.
func (a *app) noteVariables(ws *croft.Workspace) {
	if ws.Provision == nil {
		return
	}
	if n := ws.Provision.WaitingVariables(); n > 0 {
		a.note("%s: croft config trust --setup %s", waitingVariables(n), shellWord(ws.Name))
	}
}

// submodulesText names submodules, the first ones of many.
func submodulesText(paths []string) string {
	const most = 5
	text := "the submodule " + paths[0]
	if len(paths) > 1 {
		text = fmt.Sprintf("%d submodules: %s", len(paths), strings.Join(paths[:min(len(paths), most)], ", "))
	}
	if len(paths) > most {
		text += fmt.Sprintf(" and %d more", len(paths)-most)
	}
	return text
}

// provisionedText says how a path came in.
func provisionedText(p croft.ProvisionedPath) string {
	verb := map[croft.ProvisionHow]string{croft.ProvisionCopy: "copied", croft.ProvisionClone: "cloned"}[p.How]
	why := ""
	if p.Why != "" {
		why = " (" + p.Why + ")"
	}
	switch {
	case p.How == croft.ProvisionSkip:
		return "not brought in: " + printable(p.Path) + why
	case p.How == croft.ProvisionInstall:
		return printable(p.Path) + " is made by a step" + why
	case p.Files == 0:
		return ""
	}
	if p.Files == 1 && p.Path != ".worktreeinclude" {
		return verb + " " + printable(p.Path) + why
	}
	return fmt.Sprintf("%s %s of %s%s", verb, countNoun(p.Files, "file"), printable(p.Path), why)
}

// skippedText names files that were not copied, by their reason.
func skippedText(p croft.ProvisionedPath) string {
	const most = 5
	var parts []string
	for _, s := range p.Skipped[:min(len(p.Skipped), most)] {
		parts = append(parts, fmt.Sprintf("%s (%s)", printable(s.Path), s.Reason))
	}
	if more := p.Left + max(len(p.Skipped)-most, 0); more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return "not copied: " + strings.Join(slices.Compact(parts), ", ")
}

// failedSteps returns the commands of a workspace that failed.
func failedSteps(p *croft.Provision) []croft.ProvisionedStep {
	if p == nil || p.State != croft.ProvisionFailed {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.Steps), func(s croft.ProvisionedStep) bool { return s.State != croft.StepFailed })
}
