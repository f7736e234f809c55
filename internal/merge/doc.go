// Package merge computes what a lane publishes. It stacks pieces of work on
// the tip of a target, one on top of the other, without a checkout; has the
// result checked; and finds the piece of work that breaks it, so that only that one is
// rejected. It knows commits and trees, and nothing of workspaces: the
// engine keeps the queue, and moves the target.
package merge
