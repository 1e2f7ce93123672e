package monitor_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

type runTelling struct {
	RunID, State, ReasonCode, Error, StoppedBy, FallbackFrom string
	Question                                                 monitor.RunText
	Answer                                                   *monitor.RunText
	Usage                                                    *coordination.SessionUsage
	Calls                                                    []monitor.RunCall
	CallsCut                                                 bool
	AsOfSeq                                                  int64
}

// says stores messages in eden's transcript s.
func (b *testBundle) says(t testing.TB, messages ...string) {
	t.Helper()
	for _, data := range messages {
		b.tell(t, "session/agent:eden:main", "eden", [2]string{coordination.TypeSessionMessage, `{"sessionKey":"agent:eden:main","sessionId":"s",` + data + `}`})
	}
}

// A run is told with its question, its answer, its tokens, and its calls in their order; what was said by others is left out.
func TestARunIsTold(t *testing.T) {
	t.Parallel()
	b := setupWith(t, append(definitions(), sessions.Definition()))
	const ids = `"runId":"r/1","sessionKey":"agent:eden:main"`
	b.says(t, `"author":"user","text":"earlier"`)
	b.tell(t, coordination.RunStream("r/1"), "eden",
		[2]string{coordination.TypeRunQueued, `{` + ids + `,"lane":"main","cause":"agent","message":"안녕"}`},
		[2]string{coordination.TypeRunStarted, fmt.Sprintf(`{%s,"sessionId":"s","startedAtMs":%d}`, ids, noon.UnixMilli()+5)})
	b.says(t, `"runId":"r/1","author":"user","text":"안녕"`,
		`"runId":"r/1","author":"assistant","text":"","provider":"fake","model":"m","stopReason":"toolUse","usage":{"input":10,"output":2,"total":12},
		 "content":[{"type":"toolCall","id":"c1","name":"look","arguments":{"at":"sky"}}]`,
		`"author":"system","text":"meanwhile"`,
		`"runId":"r/1","author":"tool","toolCallId":"c1","toolName":"look","text":"blue","isError":true`)
	running := get[runTelling](t, b, "/api/runs/r/1", http.StatusOK)
	if running.State != "running" || running.Answer != nil || len(running.Calls) != 2 || running.Question.Text != "안녕" {
		t.Errorf("while it runs: %+v", running)
	}
	b.says(t, `"runId":"r/1","author":"assistant","text":"푸른색","provider":"fake","model":"m","stopReason":"stop","usage":{"input":20,"output":3,"total":23}`)
	b.tell(t, coordination.RunStream("r/1"), "eden", [2]string{coordination.TypeRunEnded,
		fmt.Sprintf(`{%s,"sessionId":"s","startedAtMs":%d,"endedAtMs":%d,"text":"푸른색","provider":"fake","model":"m","fallbackFrom":"big/one",
		"usage":{"input":30,"output":5,"total":35},"modelCalls":2,"toolCalls":1}`, ids, noon.UnixMilli()+5, noon.UnixMilli()+9)})
	b.says(t, `"author":"user","text":"later"`)

	told := get[runTelling](t, b, "/api/runs/r%2F1", http.StatusOK)
	if told.State != "ok" || told.FallbackFrom != "big/one" || told.Answer == nil || told.Answer.Text != "푸른색" || told.Usage == nil || told.Usage.Total != 35 ||
		told.CallsCut || told.AsOfSeq == 0 {
		t.Errorf("when it is over: %+v", told)
	}
	var brief []string
	for _, c := range told.Calls {
		tokens := int64(0)
		if c.Usage != nil {
			tokens = c.Usage.Total
		}
		brief = append(brief, fmt.Sprintf("%s %s %s %q %d %v", c.Kind, c.Tool, c.Arguments, c.Text, tokens, c.IsError))
	}
	want := []string{`model   "" 12 false`, `tool look {"at":"sky"} "blue" 0 true`, `model   "푸른색" 23 false`}
	if diff := cmp.Diff(want, brief); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// Texts are cut between characters, errors are shown without secrets, and a run that failed has a code.
func TestARunIsToldWithinBounds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const ids = `"runId":"long","sessionKey":"agent:eden:main"`
	text := "." + strings.Repeat("가", 30_000)
	b.tell(t, coordination.RunStream("long"), "eden",
		[2]string{coordination.TypeRunQueued, fmt.Sprintf(`{%s,"lane":"main","cause":"agent","message":%q}`, ids, text)},
		[2]string{coordination.TypeRunFailed, fmt.Sprintf(`{%s,"endedAtMs":%d,"text":%q,"errorClass":"auth","error":"denied: api_key=abcdef0123456789abcdef"}`,
			ids, noon.UnixMilli(), text)})
	told := get[runTelling](t, b, "/api/runs/long", http.StatusOK)
	for name, shown := range map[string]*monitor.RunText{"question": &told.Question, "answer": told.Answer} {
		if shown == nil || !shown.Cut || len(shown.Text) > 64<<10 || !strings.HasPrefix(text, shown.Text) {
			t.Errorf("%s is not the beginning of its text, cut", name)
		}
	}
	if told.ReasonCode != "auth" || !strings.HasPrefix(told.Error, "denied") || strings.Contains(told.Error, "abcdef") || told.Usage != nil {
		t.Errorf("why it failed: %+v", told.Error)
	}
	for path, status := range map[string]int{
		"/api/runs/unknown":                       http.StatusNotFound,
		"/api/runs/":                              http.StatusNotFound,
		"/api/runs/" + strings.Repeat("x", 513):   http.StatusBadRequest,
		"/api/runs/long?min_seq=x":                http.StatusBadRequest,
		"/api/runs/long?min_seq=9999999999999999": http.StatusServiceUnavailable,
	} {
		get[any](t, b, path, status)
	}
}

// What is redacted is not shown, and said to be redacted.
func TestARedactedRunIsTold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.asks(t, "secret", "eden", coordination.TypeRunEnded) // seqs 1 to 3
	for _, seq := range []int64{1, 3} {
		if err := b.db.Redact(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	told := get[runTelling](t, b, "/api/runs/secret", http.StatusOK)
	if !told.Question.Redacted || told.Question.Text != "" || told.Answer == nil || !told.Answer.Redacted || told.State != "ok" {
		t.Errorf("a redacted run: %+v", told)
	}
}
