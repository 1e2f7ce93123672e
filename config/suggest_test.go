package config

import "testing"

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"token", "token", 0}, {"tokne", "token", 1}, {"toke", "token", 1}, {"tokenn", "token", 1}, {"taken", "token", 1}, {"nekot", "token", 3},
		{"", "ab", 2}, {"ca", "abc", 3}, {"이듬", "이든", 1}, {"든이", "이든", 1}, {"agents", "gateway", 3}, {"abcd", "badc", 2},
	} {
		if got := distance(tt.a, tt.b, nearEnough); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"token", "name", "id", "accounts", "allow", "alsoAllow"}
	for key, want := range map[string]string{"tokne": "token", "nmae": "name", "acounts": "accounts", "Accounts": "accounts", "x": "", "xy": "", "di": "id", "alow": "allow"} {
		if got := nearest(key, known); got != want {
			t.Errorf("nearest(%q) = %q, want %q", key, got, want)
		}
	}
}
