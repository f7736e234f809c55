// Package dashboard makes the web pages of Croft out of a croft.Service, and turns their
// forms into calls of it. It decides nothing: conditions, reasons and next steps are those
// that the Service gives.
//
// # A page
//
// A page is two files: page_<name>.go with its handler and templates/<name>.html with its
// markup. Tests of one page are in page_<name>_test.go; browser_test.go, buttons_test.go and
// hostile_test.go try all pages.
//
//   - The handler is a method of dashboard, func(*request) (*page, error), and a row in the
//     table of pages in routes.go. It asks the Service and fills a struct for the template. A row
//     with a name in nav is in the navigation, too.
//   - The template defines "main". It gets a view: .D is the handler's data, .F the frame
//     around it (caller, repositories, links). Parts that several pages have are in
//     templates/parts.html; {{template "x" (on $.F .)}} hands one the frame and other data. A line
//     break between two tags or actions is not in the page, one beside text is a space.
//   - A form posts to an action, func(*request) (string, error), a row in the table of actions.
//     The action makes the call and returns the path that the browser goes to next, with 303
//     See Other. {{csrf $.F}} is the first thing in every form that posts. Where a
//     person is asked first, that is a page of its own, or details with the class confirm.
//   - An error of the Service becomes a page that says what happened, what was left, and
//     what to do: the handler just returns it.
//
// Every page is live: the counts around it follow all events. What a page shows itself follows if its handler fills
// page.Live with regions: templates that each make one element with an id. They are made again after events that
// page.Watch wants, and what has changed is sent to the browser. What a person decides on is no region: it
// goes into page.Shape with shapeIsOld, so that the page says that it is old.
//
// # Text of agents
//
// Names, questions, messages, paths and output are data that an agent chose. html/template
// escapes them; what is sent passes a filter that replaces control and bidi characters, on every
// page; output is stripped of escape sequences by plain. Hidden fields carry IDs, commits
// and hashes only; a path travels in a URL, where it is encoded.
//
// # What the package expects
//
// The server in front authenticates, puts a caller.Caller into the context, checks the field csrf
// of every form and sets the headers of security. A caller who may only read gets pages without
// forms, and no action; an agent's token gets nothing.
package dashboard
