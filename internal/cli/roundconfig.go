package cli

import (
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"

	"github.com/croft-sh/croft"
)

// orchestratorFile is the part of an orchestrator's configuration that says how
// agents write.
type orchestratorFile struct {
	Orchestrator struct {
		Coordination coordination `yaml:"coordination"`
	} `yaml:"orchestrator"`
	// Older files have it at the top.
	Coordination coordination `yaml:"coordination"`
}

type coordination struct {
	WriteMode           string `yaml:"write_mode"`
	UseTwoTierWorkspace *bool  `yaml:"use_two_tier_workspace"`
}

// readWriteMode reads how agents write from an orchestrator's configuration. The
// option that write_mode has replaced means auto, and is warned about.
func readWriteMode(path string) (croft.Mode, []string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", nil, &croft.Error{Code: croft.ConfigInvalid, Op: "round", Message: "the configuration cannot be read", Details: err.Error()}
	}
	var file orchestratorFile
	if err := yaml.Unmarshal(data, &file); err != nil {
		return "", nil, &croft.Error{Code: croft.ConfigInvalid, Op: "round", Message: fmt.Sprintf("%s is not YAML", path), Details: err.Error()}
	}
	var mode croft.Mode
	var warnings []string
	for _, c := range []coordination{file.Coordination, file.Orchestrator.Coordination} {
		if c.UseTwoTierWorkspace != nil {
			if *c.UseTwoTierWorkspace {
				mode = croft.ModeAuto
			}
			warnings = []string{"use_two_tier_workspace is deprecated; replace it by\n  coordination:\n    write_mode: auto"}
		}
	}
	for _, c := range []coordination{file.Coordination, file.Orchestrator.Coordination} {
		if c.WriteMode != "" {
			mode = croft.Mode(c.WriteMode)
		}
	}
	return mode, warnings, nil
}
