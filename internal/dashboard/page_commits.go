package dashboard

import "github.com/croft-sh/croft"

// commitsData is what is known of the commits of a workspace. No call of the Service lists
// them; the page counts them, and says which command does.
type commitsData struct {
	Status  *croft.Status
	Command string
}

// shownPaths is how many uncommitted files are listed.
const shownPaths = 200

func (d *dashboard) commitsPage(r *request) (*page, error) {
	v, err := d.viewOf(r, "commits")
	if err != nil {
		return nil, err
	}
	data := &commitsData{}
	if v.WS.Branch != "" && v.WS.Target != "" {
		data.Command = "git log --oneline " + shellWord(v.WS.Target+".."+v.WS.Branch)
	}
	if !v.isGone() {
		if data.Status, err = d.svc.Status(r.Context(), croft.StatusRequest{Workspace: v.WS.ID}); err != nil {
			return nil, err
		}
		data.Status.Paths = data.Status.Paths[:min(len(data.Status.Paths), shownPaths)]
	}
	v.Body = data
	return v.pageOf("commits", "Commits of "), nil
}
