// Package merge computes what a lane publishes. It stacks pieces of work on
// the tip of a target, one on top of the other, without a checkout; has the
// result checked; and finds out whose work breaks it, so that nobody else's is
// turned away. It knows commits and trees, and nothing of workspaces: the
// engine keeps the queue, and moves the target.
package merge
