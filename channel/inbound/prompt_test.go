package inbound_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/channel/inbound"
	"github.com/pronto-lab/openclawd/coordination/route"
)

func TestWhatARunIsToldBesidesTheMessage(t *testing.T) {
	t.Parallel()
	seen := []route.Record{
		{Sender: "bora", Summary: "빌드가 깨졌어요", At: 1_771_574_400_000},
		{Sender: "두\n줄", Summary: "PR 42 봐줘", At: 1_771_574_460_000,
			Tokens: route.Tokens{Mentions: []string{"1"}, URLs: []string{"https://a.b/c"}, PRs: []int{42}, CodeRefs: []string{"main.go:3"}}},
	}
	want := `Messages here that you have seen and not answered, oldest first, abbreviated:
- 2026-02-20 08:00Z bora: 빌드가 깨졌어요
- 2026-02-20 08:01Z 두 줄: PR 42 봐줘 (https://a.b/c, #42, main.go:3)`
	if diff := cmp.Diff(want, inbound.RememberedOf(seen)); diff != "" {
		t.Errorf("the run is told (-want +got):\n%s", diff)
	}
	if got := inbound.RememberedOf(nil); got != "" {
		t.Errorf("the run is told %q, want nothing", got)
	}
}

// Of many records the newest are shown: at most 50, and at most 8,000 characters of them.
func TestOnlySoManyRecordsAreTold(t *testing.T) {
	t.Parallel()
	records := func(n int, url string) (all []route.Record) {
		for i := range n {
			r := route.Record{MessageID: fmt.Sprint(i), Sender: "bora", Summary: "안녕"}
			if url != "" {
				r.Tokens.URLs = []string{url}
			}
			all = append(all, r)
		}
		return all
	}
	for _, tt := range []struct {
		name        string
		of          []route.Record
		least, most int
	}{
		{"none", nil, 0, 0},
		{"few", records(3, ""), 3, 3},
		{"many", records(60, ""), 50, 50},
		{"long ones", records(50, "https://a.b/"+strings.Repeat("x", 180)), 20, 40},
		{"one that is too long", records(1, strings.Repeat("x", 8_000)), 0, 0},
	} {
		told := inbound.Fitting(tt.of)
		if len(told) < tt.least || len(told) > tt.most {
			t.Errorf("%s: %d are told, want %d to %d", tt.name, len(told), tt.least, tt.most)
		}
		if len(told) > 0 && told[len(told)-1].MessageID != tt.of[len(tt.of)-1].MessageID {
			t.Errorf("%s: the newest is not told", tt.name)
		}
		if n := utf8.RuneCountInString(inbound.RememberedOf(told)); n > 8_100 {
			t.Errorf("%s: they have %d characters, want 8,000 and the line above them", tt.name, n)
		}
	}
}

func TestStopWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"stop": true, " Stop! ": true, "/abort": true, "<@1001> stop": true, "<@!1001> <@1002> halt.": true,
		"<@U0AB> stop": true, "/stop@ruda_bot": true, "/stop@ruda_bot now": false, "stop@ruda_bot": false,
		"": false, "stop it": false, "<@1001>": false, "don't stop": false, "<@&1001> stop": false,
	} {
		if got := inbound.IsStop(text); got != want {
			t.Errorf("%q is a stop word: %v, want %v", text, got, want)
		}
	}
}
