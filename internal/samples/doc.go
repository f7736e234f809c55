// Package samples has projects in Node, Python and Go whose workspaces are set up by one command, and the
// tests that do it: with the built croft, and without a network.
package samples
