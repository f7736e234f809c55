// Package attack holds tests that play somebody hostile. The program under test
// is the built croft, run as a person would run it; the attacker is an agent,
// or whoever made a repository, and writes only what it could write:
//
//   - [W] its workspace;
//   - [C] in worktree mode, the common git directory of the repository, with
//     all refs in it;
//   - [R] a whole repository with its .git, which the victim unpacks.
//
// Every test says who writes what, and what must not happen: code that no
// person approved runs; something outside of the attacker's own workspace is
// deleted, moved or overwritten; what was not merged and checked lands; croft
// hangs.
//
// The binary is built once. CROFT_ATTACK_BINARY names another one instead, so
// that an attack can be seen winning on a program without the defence.
// CROFT_LONG=1 runs races 1,000 times and makes floods larger.
package attack
