package monitor_test

import (
	"net/http"
	"strings"
	"testing"
)

// A day in ms, and the parts that the events of these tests share.
const (
	day  = 24 * 60 * 60 * 1000
	conv = `"fromAgent":"main","toAgent":"ruda","workSessionId":"ws","conversationId":"c1"`
)

// TestStatusCases is the table of S1 §7 and DESIGN §5: ARCHIVED after more than 24 hours of silence; else QUIET if the latest event is
// terminal and nothing of the session is open; else ACTIVE.
func TestStatusCases(t *testing.T) {
	t.Parallel()
	fan := func(n, kind string) string { return strings.ReplaceAll(conv, `"c1"`, `"c`+n+`"`) + kind }
	for name, c := range map[string]struct {
		lines   []string
		after   int64 // ms from the last event to now
		status  string
		outcome string
	}{
		"a message is out":                  {[]string{event("a2a.send", "main", 0, conv)}, 1000, "ACTIVE", "waiting"},
		"an answer came":                    {[]string{event("a2a.send", "main", 0, conv), event("a2a.response", "ruda", 1, conv)}, 1000, "ACTIVE", "active"},
		"the exchange is over":              {[]string{event("a2a.send", "main", 0, conv), event("a2a.complete", "main", 1, conv)}, 1000, "QUIET", "done"},
		"quiet for exactly 24 hours":        {[]string{event("a2a.send", "main", 0, conv), event("a2a.complete", "main", 1, conv)}, day, "QUIET", "done"},
		"quiet for 24 hours and 1 ms":       {[]string{event("a2a.send", "main", 0, conv), event("a2a.complete", "main", 1, conv)}, day + 1, "ARCHIVED", "done"},
		"waiting for 24 hours and 1 ms":     {[]string{event("a2a.send", "main", 0, conv)}, day + 1, "ARCHIVED", "waiting"},
		"waiting for exactly 24 hours":      {[]string{event("a2a.send", "main", 0, conv)}, day, "ACTIVE", "waiting"},
		"revived after two days":            {[]string{event("a2a.complete", "main", -2880, conv), event("a2a.send", "main", 0, conv)}, 0, "ACTIVE", "waiting"},
		"the end is blocked":                {[]string{event("a2a.send", "main", 0, conv), event("a2a.complete", "main", 1, conv+`,"outcome":"blocked"`)}, 0, "QUIET", "blocked"},
		"blocked, then its plain end":       {[]string{event("a2a.response", "main", 0, conv+`,"outcome":"blocked"`), event("a2a.complete", "main", 1, conv)}, 0, "QUIET", "blocked"},
		"an old event comes late":           {[]string{event("a2a.complete", "main", 5, conv), event("a2a.send", "main", 1, conv)}, 0, "QUIET", "done"},
		"equal times: the later line":       {[]string{event("a2a.send", "main", 0, conv), event("a2a.complete", "main", 0, conv)}, 0, "QUIET", "done"},
		"equal times the other way round":   {[]string{event("a2a.complete", "main", 0, conv), event("a2a.send", "main", 0, conv)}, 0, "ACTIVE", "waiting"},
		"fan-out of three, one has ended":   {[]string{event("a2a.send", "main", 0, fan("1", "")), event("a2a.send", "main", 0, fan("2", "")), event("a2a.send", "main", 0, fan("3", "")), event("a2a.complete", "main", 1, fan("1", ""))}, 0, "ACTIVE", "waiting"},
		"fan-out of three, two have ended":  {[]string{event("a2a.send", "main", 0, fan("1", "")), event("a2a.send", "main", 0, fan("2", "")), event("a2a.send", "main", 0, fan("3", "")), event("a2a.complete", "main", 1, fan("1", "")), event("a2a.complete", "main", 2, fan("3", ""))}, 0, "ACTIVE", "waiting"},
		"fan-out of three, all have ended":  {[]string{event("a2a.send", "main", 0, fan("1", "")), event("a2a.send", "main", 0, fan("2", "")), event("a2a.send", "main", 0, fan("3", "")), event("a2a.complete", "main", 1, fan("1", "")), event("a2a.complete", "main", 2, fan("3", "")), event("a2a.complete", "main", 3, fan("2", ""))}, 0, "QUIET", "done"},
		"a task is in progress":             {[]string{event("task.started", "ruda", 0, `"taskId":"t","workSessionId":"ws"`), event("a2a.send", "main", 1, conv), event("a2a.complete", "main", 2, conv)}, 0, "ACTIVE", "active"},
		"a task is completed, no status":    {[]string{event("task.started", "ruda", 0, `"taskId":"t","workSessionId":"ws"`), event("task.completed", "ruda", 1, `"taskId":"t","workSessionId":"ws"`)}, 0, "QUIET", "done"},
		"a task is cancelled, no status":    {[]string{event("task.started", "ruda", 0, `"taskId":"t","workSessionId":"ws"`), event("task.cancelled", "ruda", 1, `"taskId":"t","workSessionId":"ws"`)}, 0, "QUIET", "done"},
		"one of two tasks is completed":     {[]string{event("task.started", "ruda", 0, `"taskId":"t","workSessionId":"ws"`), event("task.started", "ruda", 0, `"taskId":"u","workSessionId":"ws"`), event("task.completed", "ruda", 1, `"taskId":"t","workSessionId":"ws"`)}, 0, "ACTIVE", "active"},
		"a task is blocked":                 {[]string{event("task.started", "ruda", 0, `"taskId":"t","workSessionId":"ws"`), event("task.blocked", "ruda", 1, `"taskId":"t","workSessionId":"ws","reason":"키가 없음"`)}, 0, "ACTIVE", "blocked"},
		"a task done, an exchange open":     {[]string{event("a2a.send", "main", 0, conv), event("task.completed", "ruda", 1, `"taskId":"t","workSessionId":"ws"`)}, 0, "ACTIVE", "waiting"},
		"updated to a terminal status":      {[]string{event("task.updated", "ruda", 0, `"taskId":"t","workSessionId":"ws","status":"abandoned"`)}, 0, "QUIET", "done"},
		"a child run is open":               {[]string{event("a2a.spawn", "main", 0, `"toAgent":"helper","workSessionId":"ws","runId":"r"`), event("a2a.send", "main", 1, conv), event("a2a.complete", "main", 2, conv)}, 0, "ACTIVE", "waiting"},
		"a child run was accepted":          {[]string{event("a2a.spawn", "main", 0, `"toAgent":"helper","workSessionId":"ws"`), event("a2a.spawn_result", "main", 1, `"toAgent":"helper","workSessionId":"ws","status":"accepted"`)}, 0, "ACTIVE", "waiting"},
		"a child run could not be started":  {[]string{event("a2a.spawn", "main", 0, `"toAgent":"helper","workSessionId":"ws"`), event("a2a.spawn_result", "main", 1, `"toAgent":"helper","workSessionId":"ws","status":"error","error":"no such agent"`)}, 0, "QUIET", "blocked"},
		"nothing is left to continue":       {[]string{event("continuation.completed", "ruda", 0, `"workSessionId":"ws"`)}, 0, "QUIET", "done"},
		"something that says nothing of it": {[]string{event("plan.submitted", "ruda", 0, `"workSessionId":"ws"`)}, 0, "ACTIVE", "active"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.importing(t, c.lines...)
			whole := get[detail](t, b, "/api/work-sessions/ws", http.StatusOK).Session
			b.now.Store(int64(whole.LastTime) + c.after)
			s := get[detail](t, b, "/api/work-sessions/ws", http.StatusOK).Session
			if s.Status != c.status || s.Outcome != c.outcome {
				t.Errorf("status %s, outcome %s; want %s, %s", s.Status, s.Outcome, c.status, c.outcome)
			}
			// However it is asked for, the status is that of the whole session.
			for _, status := range []string{"ACTIVE", "QUIET", "ARCHIVED"} {
				for _, query := range []string{"", "&type=a2a.response,a2a.send,task.started,a2a.spawn"} {
					all := get[sessionPage](t, b, "/api/work-sessions?x=1"+query, http.StatusOK)
					page := get[sessionPage](t, b, "/api/work-sessions?status="+status+query, http.StatusOK)
					want := 0
					if status == c.status {
						want = all.Count
					}
					if page.Count != want || int(page.TotalMatched) != want {
						t.Errorf("status=%s%s: %d sessions, totalMatched %d; want %d", status, query, page.Count, page.TotalMatched, want)
					}
				}
			}
		})
	}
}
