// Package cli is Croft's command line: flags become a request, the request
// goes to a croft.Service, the answer becomes text or JSON.
//
// Data goes to stdout, remarks and errors go to stderr. With --json,
// stdout carries exactly one object with "version": 1; fields are added to it,
// never repurposed. An error is told on stderr in any case, and with --json
// its object is on stdout too. The exit status comes from the code's row in
// the root package's table.
//
// The package knows no engine, reads no environment and starts no process:
// everything that it needs from outside is in Env, which cmd/croft fills.
// There is one file per command or pair of commands, and each command declares the
// few methods of the Service that it calls, or takes the part that has them.
package cli
