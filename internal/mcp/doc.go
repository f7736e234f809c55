// Package mcp serves the tools of Croft to agents over the Model Context Protocol, on
// standard input and output. It is a surface like the command line: it sees a Service.
//
// Whose server it is, is decided once, when it starts ([Scope]), never by an argument of a
// call. The server of an agent has a Service that finds nothing but the agent's workspace
// (package scope), so that no tool can give more. A server keeps no Service open while
// nothing is asked, and no lock and no lease between calls.
//
// Texts that come from a repository are data to the model that reads them: every answer is
// stripped of control characters and limited in size on its way out.
package mcp
