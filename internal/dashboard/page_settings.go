package dashboard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
)

const (
	// trustRepos is how many projects the page of all of them looks at.
	trustRepos = 30
	// trustTime is how long that may take.
	trustTime = 4 * time.Second
	// trustTargets is how many targets of one project are looked at.
	trustTargets = 20
	// settingsEvery is how often an open page looks for what no event tells of: tokens, git configuration.
	settingsEvery = 15 * time.Second
)

// settingsData is the page of the settings.
type settingsData struct {
	Ask      []trustItem // checks that wait for a person
	Allowed  []trustItem
	Moved    []movedTarget
	Configs  []gitConfigItem
	Tokens   []croft.Token
	Names    map[croft.ID]string // of the workspaces of tokens
	Choices  []croft.Workspace   // that a token can be for
	HasStore bool
	Values   []Setting
	About    About
	Git      string
	Problems []string
	Made     *madeToken
	Action   string // of the form for a token
	Wrong    string // why none was made
	Unseen   int    // projects that were not looked at
}

// trustItem are the checks of a target.
type trustItem struct {
	croft.CheckPlan
	Repo   croft.Repo
	Value  string // of the target, for the form
	Action string
	// Withdraw is where the form goes that takes the approval back.
	Withdraw string
}

// movedTarget is a target that moved outside of its lane.
type movedTarget struct {
	croft.Lane
	Repo   croft.Repo
	Value  string
	Action string
}

// gitConfigItem is a git configuration that is not the one that Croft uses.
type gitConfigItem struct {
	*croft.GitConfig
	Repo   croft.Repo
	Action string
}

// madeToken is a token whose secret is shown, this once.
type madeToken struct {
	croft.Token
	Secret string
}

// settingsPage shows what waits for a person's word, the tokens, the configuration and the keys.
func (d *dashboard) settingsPage(r *request) (*page, error) { return d.settingsWith(r), nil }

func (d *dashboard) settingsWith(r *request) *page {
	data := &settingsData{About: d.o.About, Action: r.path("settings"), Names: map[croft.ID]string{}}
	d.readTrust(r, data)
	d.readTokens(r, data)
	if r.Repo != nil && d.o.Settings != nil {
		values, err := d.o.Settings(*r.Repo)
		if err != nil {
			data.Problems = append(data.Problems, croft.AsError("config", err).Message)
		}
		data.Values = values
	}
	p := &page{
		Template: "settings", Title: "Settings", Data: data, Pace: costlyPace, Every: settingsEvery, Shape: data.shape(), OnShape: shapeIsOld,
		Live: []region{{Template: "allowed", Data: data}, {Template: "config-values", Data: data}},
	}
	if data.HasStore {
		p.Live = append(p.Live, region{Template: "token-list", Data: data})
	}
	return p
}

// shape stands for what waits for a person's word. That is not changed under the eyes of a person: the page
// says that it is old.
func (data *settingsData) shape() string {
	var b strings.Builder
	for _, a := range data.Ask {
		fmt.Fprintln(&b, a.Repo.ID, a.Target, a.Hash)
	}
	for _, m := range data.Moved {
		fmt.Fprintln(&b, m.Repo.ID, m.Target, m.Tip)
	}
	for _, c := range data.Configs {
		fmt.Fprintln(&b, c.Repo.ID, c.Hash)
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:8])
}

// readTrust asks each project what waits for a person's word.
func (d *dashboard) readTrust(r *request, data *settingsData) {
	ctx, cancel := context.WithTimeout(r.Context(), trustTime)
	defer cancel()
	seen := 0
	for _, repo := range r.Repos {
		if repo.IsMissing || r.Repo != nil && r.Repo.ID != repo.ID {
			continue
		}
		if seen++; seen > trustRepos || ctx.Err() != nil {
			data.Unseen++
			continue
		}
		if data.Git == "" {
			data.Git = repo.Version
		}
		if err := d.readTrustOf(ctx, data, repo); err != nil {
			data.Problems = append(data.Problems, repo.Name+": "+croft.AsError("settings", err).Message)
		}
	}
}

func (d *dashboard) readTrustOf(ctx context.Context, data *settingsData, repo croft.Repo) error {
	ref := croft.ByID(repo.ID)
	lanes, err := d.svc.Lanes(ctx, croft.LanesRequest{Repo: ref, Page: croft.Page{Limit: trustTargets}})
	if err != nil {
		return err
	}
	var targets []string
	if repo.Branch != "" {
		targets = append(targets, repo.Branch)
	}
	for _, l := range lanes.Items {
		if !slices.Contains(targets, l.Target) {
			targets = append(targets, l.Target)
		}
		if l.Message != "" && l.Reason == "" && l.Known != l.Tip {
			data.Moved = append(data.Moved, movedTarget{Lane: l, Repo: repo, Value: pathValue(l.Target), Action: repoPath(repo.ID, "accept")})
		}
	}
	for _, target := range targets {
		plan, err := d.svc.Checks(ctx, croft.ChecksRequest{Repo: ref, Target: target})
		if err != nil {
			data.Problems = append(data.Problems, repo.Name+", "+target+": "+croft.AsError("checks", err).Message)
			continue
		}
		item := trustItem{CheckPlan: *plan, Repo: repo, Value: pathValue(plan.Target), Action: repoPath(repo.ID, "trust"), Withdraw: repoPath(repo.ID, "withdraw")}
		switch {
		case len(plan.Checks) == 0:
		case plan.IsApproved:
			data.Allowed = append(data.Allowed, item)
		default:
			data.Ask = append(data.Ask, item)
		}
	}
	config, err := d.svc.GitConfig(ctx, croft.GitConfigRequest{Repo: ref})
	if isOneOf(err, croft.NotARepo, croft.Unsupported) {
		return nil // a plain directory has none
	}
	if err != nil {
		return err
	}
	if config.Hash != "" {
		data.Configs = append(data.Configs, gitConfigItem{GitConfig: config, Repo: repo, Action: repoPath(repo.ID, "git-config")})
	}
	return nil
}

// readTokens lists the tokens for a caller who may make some.
func (d *dashboard) readTokens(r *request, data *settingsData) {
	if d.o.Tokens == nil || !r.mayAct() {
		return
	}
	data.HasStore = true
	tokens, err := d.o.Tokens.List()
	if err != nil {
		data.Problems = append(data.Problems, croft.AsError("token", err).Message)
	}
	data.Tokens = tokens
	workspaces, err := d.lists.workspaces(r)
	if err != nil {
		data.Problems = append(data.Problems, croft.AsError("list", err).Message)
	}
	for _, ws := range workspaces {
		data.Names[ws.ID] = ws.Name
		if (r.Repo == nil || r.Repo.ID == ws.RepoID) && len(data.Choices) < maxChosen {
			data.Choices = append(data.Choices, ws)
		}
	}
}
