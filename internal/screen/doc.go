// Package screen lays text out for a terminal: the symbols and colours of the kinds of states, widths in
// columns of the terminal, tables whose columns yield in an order, and lines that are written over. It
// knows no workspaces and writes nothing by itself.
package screen
