package a2a_test

import (
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/handoff"
)

// S2 4.5: an answer that is nothing but a payload hands that over; all else is text.
func TestAnswersThatArePayloads(t *testing.T) {
	t.Parallel()
	const answer, report = `{"type":"answer","questionId":"q1","answer":"내일"}`, `{"type":"status_report","taskId":"t1","status":"completed"}`
	for name, c := range map[string]struct{ text, typ, payload string }{
		"alone":            {answer, "answer", answer},
		"a report":         {"\n " + report + "\n", "status_report", report},
		"in a fence":       {"```json\n" + answer + "\n```\n", "answer", answer},
		"with a directive": {"[[reply_to_current]]\n" + answer, "answer", answer},
		"a secret":         {`{"type":"answer","questionId":"q1","answer":"password=hunter2hunter2"}`, "answer", `{"type":"answer","questionId":"q1","answer":"password=***"}`},
		"in a text":        {"here it is: " + answer, "", ""},
		"and a text":       {answer + " done", "", ""},
		"two":              {answer + answer, "", ""},
		"two fences":       {"```json\n" + answer + "\n```\n```json\n" + answer + "\n```", "", ""},
		"an open fence":    {"```json\n" + answer, "", ""},
		"not whole":        {`{"type":"answer","questionId":"q1"}`, "", ""},
		"no type":          {`{"questionId":"q1","answer":"x"}`, "", ""},
		"a list":           {"[" + answer + "]", "", ""},
		"too long":         {`{"type":"answer","questionId":"q1","answer":"` + strings.Repeat("a ", handoff.MaxPayload) + `"}`, "", ""},
		"words":            {reply, "", ""},
	} {
		response := last[coordination.A2AResponse](t, send(nil).says(c.text, ""))
		if response.PayloadType != c.typ || response.PayloadJSON != c.payload || response.Message == "" {
			t.Errorf("%s: %q %q, message %q", name, response.PayloadType, response.PayloadJSON, response.Message)
		}
	}
}
