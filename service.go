package croft

import "io"

// Service has all calls of Croft. It is made of small parts, so that a caller that
// needs one thing declares only that part.
//
// Package engine implements it in this process, package connect finds the best
// implementation there is, and package servicetest proves that an implementation keeps
// the contract written on the parts. A Service may be used by several goroutines at
// once, and several Services, in this process and in others, may work on one repository
// at once.
//
// When its context ends, a call stops, rolls back what it has begun, and returns after that:
// a client of a server tells the server, and waits for its answer. Close releases the leases
// that were taken through the Service for its own process.
//
// Texts in requests are UTF-8. A Service refuses others with InvalidName or InvalidRequest;
// a client that sends JSON has to look before it encodes, because encoding/json replaces
// what is not UTF-8.
type Service interface {
	Repos
	Workspaces
	Roles
	Locks
	Leases
	Agents
	Runs
	Provisioning
	Containers
	Saves
	Snapshots
	Radar
	Trash
	History
	Merges
	Pushes
	Reviews
	Rounds
	Upkeep
	Trust
	GitConfigs
	Events
	io.Closer
}
