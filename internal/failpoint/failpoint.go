// Package failpoint marks the places between two effects where a test may
// make the process die or an operation fail. In an ordinary build a point is
// an empty function; with the build tag "failpoints" it obeys CROFT_FAILPOINT.
package failpoint
