package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestPage(t *testing.T) {
	if got := page(); !regexp.MustCompile(`^HELLO .+!$`).MatchString(got) {
		t.Errorf("the page is %q", got)
	}
}

func TestWhatGitDoesNotCarry(t *testing.T) {
	text, err := os.ReadFile(".env")
	if err != nil || !strings.Contains(string(text), "TOKEN=secret\n") {
		t.Errorf("%q, %v", text, err)
	}
	if port := os.Getenv("PORT"); port == "" || port != os.Getenv("PORT_WEB") {
		t.Errorf("the port is %q", port)
	}
}
