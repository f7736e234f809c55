// Package help writes the help of the program and of its commands, and the pages of its manual, from the
// commands and one table of what their flags do not tell.
package help
