package hook

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// TestNotesAreBounded: what is asked in long words of any script fits into a report.
func TestNotesAreBounded(t *testing.T) {
	for n := 100; n < 200; n++ {
		question := map[string]string{"question": strings.Repeat("語", n)}
		input := map[string]any{
			"hook_event_name": "PermissionRequest", "cwd": "/ws", "tool_name": "AskUserQuestion",
			"tool_input": map[string]any{"questions": []any{question, question}},
		}
		text, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		for _, news := range Decode(Claude, text) {
			if len(news.Note) > croft.MaxNote || !strings.HasSuffix(news.Note, "(and 1 more)") {
				t.Fatalf("%d bytes: %q", len(news.Note), news.Note)
			}
		}
		input["tool_name"], input["tool_input"] = strings.Repeat("T", 80), map[string]string{"command": strings.Repeat("𝔸", n)}
		if text, err = json.Marshal(input); err != nil {
			t.Fatal(err)
		}
		for _, news := range Decode(Claude, text) {
			if len(news.Note) > croft.MaxNote {
				t.Fatalf("%d bytes: %q", len(news.Note), news.Note)
			}
		}
	}
}

// TestPasswordsOfPrograms: passwords that are known by the program and its flag, or by their place in an address, are
// masked; the same flags of other programs are not.
func TestPasswordsOfPrograms(t *testing.T) {
	for _, c := range [][2]string{
		{"docker login -u ada -p hunter2 r.example", "docker login -u ada -p *** r.example"},
		{"echo x; podman login r.example -p=hunter2", "echo x; podman login r.example -p=***"},
		{"sshpass -phunter2 ssh host", "sshpass -p*** ssh host"},
		{"sshpass -p 'hunter 2' ssh host", "sshpass -p *** ssh host"},
		{"mysql -u root -phunter2 db", "mysql -u root -p*** db"},
		{"mysql -u root -p db", "mysql -u root -p db"},
		{"redis-cli -h x -a hunter2 ping", "redis-cli -h x -a *** ping"},
		{"http --auth ada:hunter2 example.org", "http --auth ada:*** example.org"},
		{"http -a ada:hunter2 example.org", "http -a ada:*** example.org"},
		{"mongosh -u a -p hunter2 x", "mongosh -u a -p *** x"},
		{"psql postgres://u:hun@ter2@h/db", "psql postgres://***@h/db"},
		{`curl -H 'Authorization: token hunter2'`, `curl -H 'Authorization: ***'`},
		{`curl -d '{"Authorization": "token hunter2"}'`, `curl -d '{"Authorization": "***"}'`},
		{"app --password hunter2 run", "app --password *** run"},
		{"mkdir -p a/b && ssh -p 22 h", "mkdir -p a/b && ssh -p 22 h"},
		{"docker run -p 8080:80 img", "docker run -p 8080:80 img"},
		{"git commit -a -m x; ls -a dir", "git commit -a -m x; ls -a dir"},
		{"npm view http://localhost:4873/@a/b", "npm view http://localhost:4873/@a/b"},
	} {
		if got := note(c[0]); got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
}
