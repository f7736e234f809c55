// Package tui asks a person at a terminal key by key: it puts the terminal into raw mode, reads keys, draws a
// list to choose from and a screen that is asked about, and gives the terminal back as it was. It knows no workspaces.
package tui
