// Package merge computes the commits that a lane publishes. It stacks pieces of work on
// the tip of a target, one on top of the other, without a checkout; has the result
// checked; and finds the piece of work that breaks it, so that only that one is
// rejected. It works on commits and trees, and does not know workspaces: package lane
// keeps the queue and moves the target.
package merge
