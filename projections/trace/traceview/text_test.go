package traceview

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/trace"
)

// On a terminal no line is wider than that, whatever script it is in.
func TestTraceFitsTheTerminal(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("배포", 60)
	for _, width := range []int{20, 41, 80} {
		var b bytes.Buffer
		text := treeText{to: &b, trace: &trace.Trace{}, width: width}
		node := &trace.Node{Kind: trace.Run, ID: "r", Question: long}
		for range 100 {
			node = &trace.Node{Kind: trace.Run, ID: "r\x1b[31m\n", Question: long, Children: []*trace.Node{node}}
		}
		text.node("", "", node, 0)
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if asked := strings.Count(b.String(), "asked"); asked != 101 || text.err != nil {
			t.Errorf("%d of 101 nodes, %v", asked, text.err)
		}
		for _, line := range lines {
			if n := output.Cells(line); n > width || strings.Contains(line, "\x1b") {
				t.Fatalf("%d cells of %d: %q", n, width, line)
			}
		}
	}
}

// What does not fit on a line goes on in the next one: ids, what is late and what is open are not cut off.
func TestTraceLosesNothingOnANarrowTerminal(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	text := treeText{to: &b, trace: &trace.Trace{Now: 10_000}, width: 60}
	text.node("", "", &trace.Node{Kind: trace.Flow, ID: projectiontest.TeamSend, Of: "send", From: "eden", To: "세움", State: "waiting", Open: true, Since: 4_000, DurationMs: 6_000,
		Children: []*trace.Node{{Kind: trace.Run, ID: "r", Agent: "세움", State: "ok", Late: true, LateMs: 5_000, ModelCalls: 1}}}, 0)
	const want = `send  eden → 세움  waiting  for 6s  open since 00:00:04 (6s)
│    11111111-1111-4111-8111-111111111111
└─ run  세움  ok  waited 0s  1 model call
        late: answered 5s after the flow had ended  r
`
	if diff := cmp.Diff(want, b.String()); diff != "" || text.err != nil {
		t.Error(diff, text.err)
	}
}

// Nothing in a text is read as syntax of a diagram.
func TestTextsAreEscapedInMermaid(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"end": "e#110;d", "The END.": "The E#78;D.", "friend": "friend", "a#b;c": "a#35;b#59;c", "가\n나": "가 나"} {
		if got := inMermaid(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if long := inMermaid(strings.Repeat("\"", 3)); long != "#34;#34;#34;" {
		t.Errorf("quotes: %q", long)
	}
}
