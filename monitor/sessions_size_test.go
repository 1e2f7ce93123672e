package monitor_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/monitor"
)

func TestSessionPagesShowEverySessionOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var lines []string
	for i := range 25 { // pairs end at the same time
		lines = append(lines, event("a2a.send", "main", float64(i/2), fmt.Sprintf(`"toAgent":"ruda","workSessionId":"ws_%02d","conversationId":"c%d","eventRole":"conversation.main"`, i, i)))
		lines = append(lines, event("task.updated", "main", float64(1000-i), fmt.Sprintf(`"taskId":"t","workSessionId":"ws_%02d","eventRole":"orchestration.task"`, i)))
	}
	b.importing(t, lines...)
	for _, query := range []string{"", "role=conversation.main", "viewCategory=engineering_build", "viewCategory=engineering_build&role=conversation.main",
		"status=ACTIVE", "since=2026-01-01&role=conversation.main"} {
		all := get[sessionPage](t, b, "/api/work-sessions?include=summary&"+query, http.StatusOK).names()
		var paged []string
		for cursor := ""; ; {
			page := get[sessionPage](t, b, "/api/work-sessions?include=summary&limit=3&"+query+"&cursor="+url.QueryEscape(cursor), http.StatusOK)
			paged = append(paged, page.names()...)
			if page.NextCursor == nil {
				break
			}
			cursor = *page.NextCursor
		}
		if diff := cmp.Diff(all, paged); diff != "" || len(all) != 25 {
			t.Errorf("%s: %d sessions; in pages (-want +got)\n%s", query, len(all), diff)
		}
	}
}

func TestHugeSessionIsTruncated(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) { o.MaxEvents = 20 })
	var lines []string
	for i := range 25 {
		lines = append(lines, event("a2a.response", "main", float64(i), `"toAgent":"ruda","workSessionId":"ws_huge","conversationId":"c"`))
	}
	lines = append(lines, event("task.updated", "main", 30, `"taskId":"t","workSessionId":"ws_first"`), event("task.updated", "main", 1, `"taskId":"t","workSessionId":"ws_last"`))
	b.importing(t, lines...)
	for _, query := range []string{"", "&type=a2a.response"} {
		s := get[detail](t, b, "/api/work-sessions/ws_huge?"+query, http.StatusOK).Session
		if events := s.Threads[0].Events; !s.EventsTruncated || s.EventCount != 25 || len(events) != 20 || events[0].Seq != 6 {
			t.Errorf("%s: truncated %v, eventCount %d, %d events from seq %d", query, s.EventsTruncated, s.EventCount, len(events), events[0].Seq)
		}
	}
	// The sessions that come first have theirs.
	type row struct {
		Name      string
		Events    int
		Truncated bool
	}
	var got []row
	for _, s := range get[sessionPage](t, b, "/api/work-sessions", http.StatusOK).Sessions {
		got = append(got, row{s.WorkSessionID, len(s.Threads[0].Events), s.EventsTruncated})
	}
	if diff := cmp.Diff([]row{{"ws_first", 1, false}, {"ws_huge", 19, true}, {"ws_last", 0, true}}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if s := get[detail](t, b, "/api/work-sessions/ws_huge?include=summary", http.StatusOK).Session; s.EventsTruncated {
		t.Error("a summary is truncated")
	}
}

func TestHugeEventsShortenAPage(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) { o.MaxBytes = 10_000 })
	var lines []string
	for i := range 40 {
		text := "small"
		if i > 36 {
			text = strings.Repeat("x", 4_000)
		}
		lines = append(lines, event("a2a.send", "main", float64(i), fmt.Sprintf(`"toAgent":"ruda","workSessionId":"ws","text":%q`, text)))
	}
	b.importing(t, lines...)
	page := get[eventPage](t, b, "/api/events", http.StatusOK)
	if page.Count == 40 || page.NextCursor == nil {
		t.Fatalf("%d events in one page", page.Count)
	}
	rest := get[eventPage](t, b, "/api/events?cursor="+url.QueryEscape(*page.NextCursor), http.StatusOK)
	if page.Count+rest.Count != 40 || rest.NextCursor != nil {
		t.Errorf("%d and %d events", page.Count, rest.Count)
	}
	s := get[detail](t, b, "/api/work-sessions/ws", http.StatusOK).Session
	if shown := s.Threads[0].Events; !s.EventsTruncated || s.EventCount != 40 || shown[len(shown)-1].Seq != 40 {
		t.Errorf("truncated %v, %d events, the last shown is %d", s.EventsTruncated, s.EventCount, shown[len(shown)-1].Seq)
	}
}
