package layout_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/layout/layouttest"
)

func TestSlug(t *testing.T) {
	tests := []struct{ name, want string }{
		{"PROJ-123", "PROJ-123"},
		{"feat/login", "feat-login"},
		{"a//b", "a-b"},
		{"a -- b", "a-b"},
		{"über/日本", "über-日本"},
		{"e\u0301tat", "e\u0301tat"},
		{"a_b.c", "a_b.c"},
		{"../../etc", "etc"},
		{".git", "git"},
		{"-x-", "x"},
		{"...", "workspace"},
		{"", "workspace"},
		{"🚀", "workspace-1f680"},
		{"🚀🚀🔥🚀🔥", "workspace-1f680-1f680-1f525-1f680"},
		{"👩🏽‍💻", "workspace-1f469-1f4bb"},
		{"日本語", "日本語"},
		{"🚀日本", "日本"},
		{"\xff\xfe", "workspace"},
		{"con", "con-w"},
		{"NUL", "NUL-w"},
		{"aux.c", "aux-w.c"},
		{"com1/", "com1-w"},
		{"com\u00b9", "com"},
		{"a\u200cb", "a-b"},
		{strings.Repeat("x", 100), strings.Repeat("x", 80)},
		{strings.Repeat("日", 50), strings.Repeat("日", 26)},
		{strings.Repeat("x", 79) + "/y", strings.Repeat("x", 79)},
	}
	for _, tt := range tests {
		if got := layout.Slug(tt.name); got != tt.want {
			t.Errorf("Slug(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestSlugIsSafeAndStable(t *testing.T) {
	for _, s := range layouttest.Hostile(3, 10_000) {
		slug := layout.Slug(s)
		if problem := unsafeComponent(slug); problem != "" || len(slug) > 80 || !utf8.ValidString(slug) {
			t.Fatalf("Slug(%q) = %q: %s", s, slug, problem)
		}
		if again := layout.Slug(slug); again != slug {
			t.Fatalf("Slug(Slug(%q)) = %q, want %q", s, again, slug)
		}
	}
}

func TestUniqueSlug(t *testing.T) {
	taken := map[string]bool{"login": true, "login-2": true, strings.Repeat("x", 80): true}
	ask := func(folded string) bool { return taken[folded] }
	tests := []struct{ name, want string }{
		{"free", "free"},
		{"login", "login-3"},
		{"Login", "Login-3"},
		{"LOGIN", "LOGIN-3"},
		{strings.Repeat("x", 90), strings.Repeat("x", 78) + "-2"},
		{strings.Repeat("x", 80), strings.Repeat("x", 78) + "-2"},
	}
	for _, tt := range tests {
		if got := layout.UniqueSlug(tt.name, ask); got != tt.want {
			t.Errorf("UniqueSlug(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestUniqueSlugsStayUniqueAndShort(t *testing.T) {
	taken := map[string]bool{}
	for i := range 120 {
		slug := layout.UniqueSlug(strings.Repeat("é.", 60), func(folded string) bool { return taken[folded] })
		if len(slug) > 80 || !utf8.ValidString(slug) || unsafeComponent(slug) != "" {
			t.Fatalf("slug %d is %q", i, slug)
		}
		if taken[layout.Fold(slug)] {
			t.Fatalf("slug %d, %q, was there before", i, slug)
		}
		taken[layout.Fold(slug)] = true
	}
}

func TestFold(t *testing.T) {
	same := [][]string{
		{"Login", "LOGIN", "login"},
		{"ÜBER", "über"},
		{"Σς", "σσ"},
		{"Kelvin", "\u212aelvin"},
		{"straße", "STRASSE", "STRA\u1e9eE"},
		{"\ufb01x", "FIX"},
	}
	for _, group := range same {
		for _, s := range group {
			if layout.Fold(s) != layout.Fold(group[0]) {
				t.Errorf("Fold(%q) = %q, Fold(%q) = %q", s, layout.Fold(s), group[0], layout.Fold(group[0]))
			}
		}
	}
	if layout.Fold("a") == layout.Fold("b") || layout.Fold("a") == layout.Fold("ä") {
		t.Error("different letters fold to the same")
	}
}

func TestFoldTwiceIsFold(t *testing.T) {
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		if once := layout.Fold(string(r)); layout.Fold(once) != once {
			t.Fatalf("Fold(%U) = %q, and again %q", r, once, layout.Fold(once))
		}
	}
}

func TestShortID(t *testing.T) {
	tests := []struct{ id, want string }{
		{"6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b810"},
		{"6BA7B810-9DAD-11D1-80B4-00C04FD430C8", "6BA7B810"},
		{"k3v9x0q2m4n6p8r1", "k3v9x0q2"},
		{"abc123", "abc123"},
		{"", ""},
		{"K3V9X0Q2M4N6P8R1", "K3V9X0Q2M4N6P8R1"},
		{"k3v9x0q2m4n6p8r", "k3v9x0q2m4n6p8r"},
		{"k3v9x0q2m4n6p8r12", "k3v9x0q2m4n6p8r12"},
		{"frontend-builder", "frontend-builder"},
		{"6ba7b810-9dad-11d1-80b4-00c04fd430c", "6ba7b810-9dad-11d1-80b4-00c04fd430c"},
		{"6ba7b810-9dad-11d1-80b4-00c04fd430cg", "6ba7b810-9dad-11d1-80b4-00c04fd430cg"},
		{"6ba7b8109dad-11d1-80b4-00c0-4fd430c8", "6ba7b8109dad-11d1-80b4-00c0-4fd430c8"},
	}
	for _, tt := range tests {
		if got := layout.ShortID(tt.id); got != tt.want {
			t.Errorf("ShortID(%q) = %q, want %q", tt.id, got, tt.want)
		}
	}
}

func TestCreatedAtFromBranch(t *testing.T) {
	tests := []struct {
		branch string
		want   int64
	}{
		{"swarm/researcher-1703849234567", 1703849234567},
		{"swarm/researcher-abc", 0},
		{"swarm/researcher-", 0},
		{"other/researcher-123", 0},
		{"swarm/researcher-123abc", 123},
		{"swarm/reviewer-test-session-123", 0},
		{"swarm/-123", 0},
		{"swarm/a_1-007", 7},
		{"refs/heads/swarm/architect-5", 5},
		{"swarm/ü-5", 0},
		{"swarm/a-9223372036854775807", 9223372036854775807},
		{"swarm/a-9223372036854775808", 0},
		{"swarm/a-99999999999999999999999999", 0},
		{"swarm/a-٣", 0},
		{"", 0},
	}
	for _, tt := range tests {
		if got := layout.CreatedAt(tt.branch); got != tt.want {
			t.Errorf("CreatedAt(%q) = %d, want %d", tt.branch, got, tt.want)
		}
	}
}

// TestInventedNamesAreValid goes through every name that can be made up.
func TestInventedNamesAreValid(t *testing.T) {
	var sizes []int
	layout.Invent(func(n int) int { sizes = append(sizes, n); return 0 })
	if len(sizes) != 2 || sizes[0]*sizes[1] < 4000 {
		t.Fatalf("there are only %v words", sizes)
	}
	seen := map[string]bool{}
	for i := range sizes[0] {
		for j := range sizes[1] {
			index := []int{i, j}
			name := layout.Invent(func(int) int { k := index[0]; index = index[1:]; return k })
			if err := layout.CheckName(name); err != nil || layout.Slug(name) != name || layout.Fold(name) != name {
				t.Fatalf("invented %q: %v", name, err)
			}
			if seen[name] {
				t.Fatalf("%q can be made up twice", name)
			}
			if first, second, _ := strings.Cut(name, "-"); first == second {
				t.Fatalf("%q says the same thing twice", name)
			}
			seen[name] = true
		}
	}
}

func TestInventIsSpread(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	for range 100 {
		seen[layout.Invent(rnd.IntN)] = true
	}
	if len(seen) < 90 {
		t.Errorf("100 inventions gave only %d names", len(seen))
	}
}
