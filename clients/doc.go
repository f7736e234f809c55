// Package clients has the tests of the clients in Python and TypeScript: against the built
// croft, with the interpreters that are installed.
//
// The clients themselves are in python and typescript. Their types and calls are generated
// from docs/openapi/openapi.json by internal/openapi/clientgen; the rest of them is written by
// hand.
package clients
