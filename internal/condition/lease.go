package condition

import "github.com/croft-sh/croft"

// leaseAtWork returns the lease by which a workspace is worked in. That of a subagent which has ended is not: it is its
// session's, which goes on elsewhere.
func leaseAtWork(w *croft.Workspace) *croft.Lease {
	if w.Role == croft.RoleSubagent && w.Activity != nil && w.Activity.State == croft.AgentEnded {
		return nil
	}
	return w.Lease
}
