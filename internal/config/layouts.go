package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// layouts returns the names of the built-in layouts, and variables what the templates of a layout may have in braces.
// Package layout decides about both when a workspace is made. They are repeated here, because this package may not
// import that one, to refuse a mistake when a value is written; a test compares them.
func layouts() []string {
	return []string{"default", "agents", "swarm", "sibling", "claude", "rounds", "massgen"}
}

func variables() []string {
	return []string{"repo", "home", "prefix", "name", "slug", "role", "session", "round", "id", "shortid", "branch", "hex8", "unix"}
}

// checkLayout refuses a value with which no workspace could be made. It is called only for a value that is written:
// a file that has it all the same is read, so that what makes a workspace refuses it and does not fall back to
// another layout.
func checkLayout(key, text string) error {
	switch key {
	case "layout":
		return checkOneOf(layouts()...)(text, "")
	case "path", "branch":
		return checkBraces(text)
	}
	return nil
}

// checkBraces refuses a template with braces that do not match, or with something else than a variable in them.
func checkBraces(text string) error {
	for text != "" {
		_, rest, opens := strings.Cut(text, "{")
		if strings.Contains(text[:len(text)-len(rest)], "}") {
			return errors.New("has a } without a {")
		}
		if !opens {
			return nil
		}
		name, after, closes := strings.Cut(rest, "}")
		if !closes || strings.Contains(name, "{") {
			return errors.New("has a { without a }")
		}
		if !slices.Contains(variables(), name) {
			return fmt.Errorf("has the unknown variable %s; there are {%s}", quote("{"+name+"}"), strings.Join(variables(), "} {"))
		}
		text = after
	}
	return nil
}
