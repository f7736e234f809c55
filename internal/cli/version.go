package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// versionResult is what `croft version` prints. "version" is that of the JSON,
// here as everywhere; the program's is "croft".
type versionResult struct {
	Version int    `json:"version"`
	Croft   string `json:"croft"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the program's version",
		Args:  takesNothing,
		RunE: func(*cobra.Command, []string) error {
			a.printVersion()
			return nil
		},
	}
}

func (a *app) printVersion() {
	v := versionResult{formatVersion, a.env.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH}
	if a.json {
		a.emit(v)
		return
	}
	a.line(fmt.Sprintf("croft %s (%s, %s/%s)", v.Croft, v.Go, v.OS, v.Arch))
}
