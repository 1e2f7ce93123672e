package search_test

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/search"
)

func snippetOf(w search.Words, message string) search.Snippet {
	r := coordination.Record{Type: "a2a.send", Facts: coordination.Facts{Message: message, FromAgent: "eden", TaskID: "task_ab12"}}
	return w.SnippetOf(&r, coordination.DefaultRoster())
}

// marked are the parts of a snippet that its matches name.
func marked(t testing.TB, s search.Snippet) []string {
	t.Helper()
	units := utf16.Encode([]rune(s.Text))
	list, end := []string{}, 0
	for _, m := range s.Matches {
		if m.Start < end || m.End <= m.Start || m.End > len(units) {
			t.Fatalf("match %v of %q after %d", m, s.Text, end)
		}
		list, end = append(list, string(utf16.Decode(units[m.Start:m.End]))), m.End
	}
	return list
}

func TestSnippets(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("앞말 ", 60)
	for _, c := range []struct {
		query, message string
		field, text    string // no text: whatever it is
		marked         []string
	}{
		{"리뷰", "코드리뷰를 리뷰했다", "message", "코드리뷰를 리뷰했다", []string{"리뷰", "리뷰"}},
		{"실패 배포", "😀 배포가\n실패했습니다", "message", "😀 배포가 실패했습니다", []string{"배포", "실패"}},
		{"deploy", "Deployment, redeploy", "message", "Deployment, redeploy", []string{"Deploy"}},
		{"main.go", "see cmd/main.go!", "message", "see cmd/main.go!", []string{"main.go"}},
		{`"리뷰 결과"`, "코드리뷰 — 결과를", "message", "코드리뷰 — 결과를", []string{"리뷰 — 결과"}},
		{"리뷰 뷰를", "리뷰를", "message", "리뷰를", []string{"리뷰를"}},
		{"리뷰", "\u1105\u1175\u1107\u1172", "message", "리뷰", []string{"리뷰"}},
		{"ab12", "다른 말", "taskId", "task_ab12", []string{"ab12"}},
		{"blocked", "[outcome] blocked: 시간 초과", "message", "시간 초과", []string{}},
		{"리뷰", long + "리뷰 " + long, "message", "", []string{"리뷰"}},
	} {
		s := snippetOf(words(t, c.query), c.message)
		if s.Field != c.field || c.text != "" && s.Text != c.text {
			t.Errorf("%q in %q: %+v, want %s %q", c.query, c.message, s, c.field, c.text)
		}
		if diff := cmp.Diff(c.marked, marked(t, s)); diff != "" {
			t.Errorf("%q in %q (-want +got):\n%s", c.query, c.message, diff)
		}
	}
	s := snippetOf(words(t, "리뷰"), long+"리뷰 "+long)
	if n := len([]rune(s.Text)); n != 162 || !strings.HasPrefix(s.Text, "…") || !strings.HasSuffix(s.Text, "…") {
		t.Errorf("a long text gives %d characters: %q", n, s.Text)
	}
}

func checkSnippet(t *testing.T, w search.Words, text string) {
	t.Helper()
	s := snippetOf(w, text)
	marked(t, s)
	if n := len([]rune(s.Text)); n > 162 {
		t.Errorf("%d characters", n)
	}
}
