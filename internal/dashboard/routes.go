package dashboard

import (
	"net/http"
	"strings"

	"github.com/croft-sh/croft"
)

// nav is an entry of the navigation. A page whose row has none is reached from others.
type nav struct {
	name, icon string
	key        string // of "g" and this letter
}

// reach says for which projects a page is there.
type reach string

const (
	reachBoth reach = ""    // at /path for all projects, at /r/{repo}/path for one
	reachOne  reach = "one" // at /r/{repo}/path only
	reachAll  reach = "all" // at /path only
)

// pageRow is a page: where it is, who makes it, how it is called in the navigation.
type pageRow struct {
	path  string
	reach reach
	make  func(*request) (*page, error)
	nav   nav
	under string // the name in nav of the page that it is reached from
}

// pages is the table of pages, in the order of the navigation.
func (d *dashboard) pages() []pageRow {
	return []pageRow{
		{path: "", make: d.inboxPage, nav: nav{"Inbox", "inbox", "i"}},
		{path: "queue", make: d.queuePage, nav: nav{"Queue", "lane", "l"}},
		{path: "conflicts", make: d.conflictsPage, nav: nav{"Conflicts", "radar", "c"}},
		{path: "rounds", make: d.roundsPage, nav: nav{"Rounds", "rounds", "r"}},
		{path: "history", make: d.historyPage, nav: nav{"History", "history", "h"}},
		{path: "trash", make: d.trashPage, nav: nav{"Trash", "trash", "t"}},
		{path: "settings", make: d.settingsPage, nav: nav{"Settings", "settings", "s"}},

		{path: "new", make: d.newPage, under: "Inbox"},
		{path: "w/{ws}", reach: reachOne, make: d.workspacePage, under: "Inbox"},
		{path: "w/{ws}/file", reach: reachOne, make: d.filePage, under: "Inbox"},
		{path: "w/{ws}/commits", reach: reachOne, make: d.commitsPage, under: "Inbox"},
		{path: "w/{ws}/activity", reach: reachOne, make: d.activityPage, under: "Inbox"},
		{path: "w/{ws}/checks", reach: reachOne, make: d.checksPage, under: "Inbox"},
		{path: "w/{ws}/snapshots", reach: reachOne, make: d.snapshotsPage, under: "Inbox"},
		{path: "w/{ws}/discard", reach: reachOne, make: d.discardPage, under: "Inbox"},
		{path: "w/{ws}/revert", reach: reachOne, make: d.revertPage, under: "Inbox"},
		{path: "undo/{op}", reach: reachOne, make: d.undoPage, under: "History"},
		{path: "review/{review}", reach: reachOne, make: d.reviewPage, under: "Inbox"},
		{path: "review/{review}/file", reach: reachOne, make: d.reviewFilePage, under: "Inbox"},
		{path: "m/{merge}/log", reach: reachOne, make: d.logPage, under: "Queue"},
		{path: "m/{merge}/revert", reach: reachOne, make: d.revertMergePage, under: "Queue"},
		{path: "rounds/{session}", reach: reachOne, make: d.sessionPage, under: "Rounds"},
		{path: "rounds/{session}/end", reach: reachOne, make: d.endSessionPage, under: "Rounds"},
		{path: "rounds/{session}/round/{round}/end", reach: reachOne, make: d.endRoundPage, under: "Rounds"},
		{path: "rounds/{session}/attempt/{ws}", reach: reachOne, make: d.attemptPage, under: "Rounds"},
		{path: "discard", reach: reachAll, make: d.discardSomePage, under: "Inbox"},
	}
}

// actions is the table of what forms post to.
func (d *dashboard) actions() map[string]func(*request) (string, error) {
	const ws = "/r/{repo}/w/{ws}/"
	return map[string]func(*request) (string, error){
		"/theme":   d.setTheme,
		"/keys":    d.setKeys,
		"/bulk":    d.bulk,
		"/discard": d.discardSome,

		"/new":                 d.makeNew,
		"/r/{repo}/new":        d.makeNew,
		"/settings":            d.makeToken,
		"/r/{repo}/settings":   d.makeToken,
		"/tokens/{token}":      d.revokeToken,
		"/r/{repo}/trust":      d.approve,
		"/r/{repo}/withdraw":   d.withdraw,
		"/r/{repo}/accept":     d.acceptTarget,
		"/r/{repo}/git-config": d.acceptGitConfig,

		ws + "merge":     onWorkspace(d.mergeOne),
		ws + "resolve":   onWorkspace(d.resolveOne),
		ws + "snapshot":  onWorkspace(d.snapshotOne),
		ws + "lock":      onWorkspace(d.lockOne),
		ws + "unlock":    onWorkspace(d.unlockOne),
		ws + "hold":      onWorkspace(d.changeQueue(croft.QueueHold)),
		ws + "release":   onWorkspace(d.changeQueue(croft.QueueRelease)),
		ws + "cancel":    onWorkspace(d.changeQueue(croft.QueueCancel)),
		ws + "remove":    onWorkspace(d.removeOne),
		ws + "restore":   onWorkspace(d.restoreOne),
		ws + "snapshots": onWorkspace(d.restoreSnapshot),
		ws + "discard":   d.discardOne,
		ws + "review":    d.createReview,

		"/r/{repo}/m/{merge}/revert":  d.revert,
		"/r/{repo}/m/{merge}/hold":    d.onMerge(croft.QueueHold),
		"/r/{repo}/m/{merge}/release": d.onMerge(croft.QueueRelease),
		"/r/{repo}/m/{merge}/cancel":  d.onMerge(croft.QueueCancel),
		"/r/{repo}/m/{merge}/first":   d.onMerge(croft.QueueFirst),
		"/r/{repo}/queue/hold":        d.changeAll(croft.QueueHold),
		"/r/{repo}/queue/release":     d.changeAll(croft.QueueRelease),
		"/r/{repo}/undo/{op}":         d.undo,
		"/r/{repo}/review/{review}":   d.applyReview,
		"/r/{repo}/trash/{item}":      d.restoreTrash,

		"/r/{repo}/rounds/{session}/start":             d.startRound,
		"/r/{repo}/rounds/{session}/present":           d.present,
		"/r/{repo}/rounds/{session}/end":               d.endSession,
		"/r/{repo}/rounds/{session}/round/{round}/end": d.endRound,
	}
}

func (d *dashboard) routes() {
	for _, row := range d.pages() {
		h := &pageHandler{d: d, row: row}
		if row.reach != reachOne {
			d.mux.Handle("GET /"+exact(row.path), h)
		}
		if row.reach != reachAll {
			d.mux.Handle("GET /r/{repo}/"+exact(row.path), h)
		}
	}
	for path, act := range d.actions() {
		d.mux.Handle("POST "+path, &actionHandler{d: d, act: act, isForAll: path == "/theme" || path == "/keys"})
	}
	d.mux.Handle("GET "+LivePath, http.HandlerFunc(d.serveLive))
	d.mux.Handle("/", http.HandlerFunc(d.notFound))
}

// exact is a pattern that matches a path and nothing below it.
func exact(path string) string {
	if path == "" || strings.HasSuffix(path, "/") {
		return path + "{$}"
	}
	return path
}

func (d *dashboard) notFound(w http.ResponseWriter, r *http.Request) {
	req := d.request(r)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		d.fail(w, req, &refusal{
			status: http.StatusMethodNotAllowed, title: "Nothing is done at this address",
			happened: "A form was sent to an address that takes none.", left: "Nothing was changed.", next: "Go back and load the page again.",
		})
		return
	}
	d.fail(w, req, &refusal{
		status: http.StatusNotFound, title: "There is no such page",
		happened: "No page has this address. It was mistyped, or what it showed is called otherwise now.",
		left:     "Nothing was changed.", next: "Look for it in the inbox.",
	})
}
