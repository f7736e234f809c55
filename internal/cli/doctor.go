package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/screen"
	"github.com/spf13/cobra"
)

// doctor is the part of croft.Service that `croft doctor` calls.
type doctor interface {
	Doctor(ctx context.Context, req croft.DoctorRequest) (*croft.DoctorResult, error)
}

func newDoctorCommand(a *app) *cobra.Command {
	var req croft.DoctorRequest
	var isImporting, isSure, isDryRun bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Compare records, refs and disk, and repair",
		Long: `Compare records, refs, git's registrations and the disk. With --fix, mend what
can be mended without losing anything.

If the state was lost together with its second copy, --import shows what git still
knows of workspaces, and makes records of it once you have said yes. Agents can
write what git knows, so look at the list: nothing is moved or deleted by it, but
what you bind can be removed like any workspace. A copy that lies in the place of
a workspace, as after a backup was brought back, is bound in the same way.

The exit status is 0 only when nothing is left to fix.`,
		Args: takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req.Repo = a.dir()
			if req.Key != "" && isImporting && !isSure {
				return usageError(cmd, "with --key say --yes")
			}
			asks := consentAsk
			if isDryRun {
				req.Fix, isSure, asks = "", false, consentDryRun
			}
			switch {
			case isImporting && isSure:
				req.Import = croft.ImportAll
			case isImporting:
				req.Import = croft.ImportShow
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error { return a.runDoctor(ctx, svc, req, asks) })
		},
	}
	addWordFlag(cmd, &req.Fix, croft.FixAll, "fix", "", "mend what can be mended")
	cmd.Flags().BoolVar(&isImporting, "import", false, "show what git knows of workspaces without a record, and ask whether to bind it")
	cmd.Flags().BoolVarP(&isSure, "yes", "y", false, "with --import, do not ask")
	cmd.Flags().BoolVarP(&isDryRun, "dry-run", "n", false, "only tell what is wrong, also with --fix")
	addKeyFlag(cmd, &req.Key)
	return cmd
}

func (a *app) runDoctor(ctx context.Context, svc doctor, req croft.DoctorRequest, how consent) error {
	findings, err := svc.Doctor(ctx, req)
	if err != nil {
		return err
	}
	left := a.showFindings(findings.Findings)
	question := importQuestion(findings.Findings)
	if req.Import == croft.ImportShow && question != "" && how == consentAsk && a.canAsk() {
		yes, err := a.ask(ctx, question)
		if err != nil {
			return err
		}
		if yes {
			req.Import, req.Agreed = croft.ImportAll, []string{}
			for _, f := range findings.Findings {
				req.Agreed = append(req.Agreed, f.Seen)
			}
			if findings, err = svc.Doctor(ctx, req); err != nil {
				return err
			}
			left = a.showFindings(findings.Findings)
		}
	}
	switch {
	case len(findings.Findings) == 0 && a.isRecordHidden():
		a.note("nothing is wrong with what git knows; Croft's record cannot be read here, and was not compared")
	case len(findings.Findings) == 0:
		a.note("all is well")
	case question != "" && req.Import == croft.ImportShow:
		a.note("%s; look at each before you bind it", countNoun(left, "finding"))
		a.remarkNext("croft doctor --import --yes")
	case left > 0 && req.Fix == croft.FixNothing:
		a.note("%s left to fix", countNoun(left, "finding"))
		if slices.ContainsFunc(findings.Findings, func(f croft.Finding) bool { return f.CanFix && !f.Fixed }) {
			a.remarkNext("croft doctor --fix")
		}
	case left > 0:
		a.note("%s that croft does not fix by itself", countNoun(left, "finding"))
	}
	if left > 0 {
		return statusError(croft.ExitFailure)
	}
	return nil
}

// replacedCode is the finding of a copy in the place of a workspace.
const replacedCode = "WORKSPACE_REPLACED"

// importQuestion asks about what can be imported. It is empty if that is nothing.
func importQuestion(findings []croft.Finding) string {
	var copies []string
	others := 0
	for _, f := range findings {
		switch {
		case f.Seen == "" || f.Fixed:
		case f.Code == replacedCode:
			copies = append(copies, f.Subject)
		default:
			others++
		}
	}
	take := "take the copy at the path of " + fewNames(copies) + " for the workspace?"
	if len(copies) > 1 {
		take = "take the copies at the paths of " + fewNames(copies) + " for the workspaces?"
	}
	switch {
	case len(copies) > 0 && others > 0:
		return "Make records of what has none, and " + take
	case len(copies) > 0:
		return "T" + strings.TrimPrefix(take, "t")
	case others == 1:
		return "Make a record of it?"
	case others > 1:
		return "Make records of them?"
	}
	return ""
}

// showFindings prints findings, and returns how many are left to fix.
func (a *app) showFindings(findings []croft.Finding) (left int) {
	var rows [][]cell
	for _, f := range findings {
		row := []cell{styledCell("fixed", styleGreen), plainCell(f.Code), plainCell(f.Subject), plainCell(f.Message)}
		if !f.Fixed {
			left++
			row[0] = styledCell("found", styleRed)
		}
		rows = append(rows, row)
	}
	switch {
	case a.json:
		a.emit(croft.DoctorResult{Findings: findings})
	case a.isShown():
		a.printFindings(findings)
	default:
		a.printSentences(rows)
	}
	return left
}

// printFindings says on a terminal what is wrong, and with what. The codes are for programs.
func (a *app) printFindings(findings []croft.Finding) {
	for _, f := range findings {
		o := outcome{Kind: screen.Stuck, Name: f.Subject, Detail: results.Sentence(f.Message)}
		if f.Fixed {
			o.Kind, o.Word = screen.Done, "mended"
		}
		a.printOutcomes(o)
	}
}
