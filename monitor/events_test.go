package monitor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func smallLog(t *testing.T) *testBundle {
	b := setup(t)
	b.importing(t,
		event("a2a.send", "main", 0, `"fromAgent":"main","toAgent":"ruda","message":"배포 서버 점검","workSessionId":"ws_a","conversationId":"c1","eventRole":"conversation.main"`),
		event("a2a.response", "ruda", 1, `"fromAgent":"ruda","toAgent":"main","message":"회귀 테스트 통과","workSessionId":"ws_a","conversationId":"c1","eventRole":"conversation.main"`),
		event("task.started", "ruda", 2, `"taskId":"task_1","workSessionId":"ws_a","eventRole":"orchestration.task"`),
		event("a2a.spawn", "ruda", 3, `"message":"README 문서 정리","workSessionId":"ws_b","eventRole":"delegation.subagent"`),
		event("gateway.heartbeat", "", 4, `"eventRole":"system.observability"`),
	)
	b.appending(t, "run.started", `{"runId":"r1","eventRole":"system.observability"}`)
	return b
}

func TestEventsFilters(t *testing.T) {
	t.Parallel()
	b := smallLog(t)
	for _, c := range []struct {
		query string
		want  []int64
	}{
		{"", []int64{1, 2, 3, 4, 5}},
		{"scope=all", []int64{1, 2, 3, 4, 5, 6}},
		{"limit=2", []int64{4, 5}},
		{"role=conversation.main", []int64{1, 2}},
		{"role=conversation.main,orchestration.task", []int64{1, 2, 3}},
		{"role=conversation.main&role=orchestration.task&limit=2", []int64{2, 3}},
		{"role=delegation.subagent,", []int64{4}},
		{"type=a2a.send", []int64{1}},
		{"type=a2a.send,%20a2a.spawn,&type=task.started", []int64{1, 3, 4}},
		{"type=A2A.SEND", []int64{}},
		{"viewCategory=infra_ops", []int64{1, 5}},
		{"viewCategory=infra_ops,qa_validation", []int64{1, 2, 5}},
		{"viewCategory=all", []int64{1, 2, 3, 4, 5}},
		{"viewCategory=all,infra_ops", []int64{1, 2, 3, 4, 5}},
		{"viewCategory=growth_marketing", []int64{}},
		{"since=2026-02-20T12:02:00Z", []int64{3, 4, 5}},
		{"since=2026-02-20T21:02:00%2B09:00", []int64{3, 4, 5}},
		{"since=2026-02-20T21:02:00+09:00", []int64{3, 4, 5}},
		{fmt.Sprintf("since=%.0f", at(2)), []int64{3, 4, 5}},
		{fmt.Sprintf("since=%.1f", at(2)+0.5), []int64{4, 5}},
		{"since=2026", []int64{1, 2, 3, 4, 5}},
		{"since=2026-02-21", []int64{}},
		{"until=2026-02-20T12:01:00Z", []int64{1, 2}},
		{"since=2026-02-20T12:01:00Z&until=2026-02-20T12:02:00Z", []int64{2, 3}},
		{"since=2026-02-20T12:02:00Z&until=2026-02-20T12:01:00Z", []int64{}},
		{"role=conversation.main&since=2026-02-20T12:01:00Z&type=a2a.response&viewCategory=qa_validation", []int64{2}},
		{"after=0&limit=2", []int64{1, 2}},
		{"after=3", []int64{4, 5}},
		{"after=5", []int64{}},
		{"after=9223372036854775807", []int64{}},
		{"role=&type=&viewCategory=&since=&limit=&cursor=&scope=", []int64{1, 2, 3, 4, 5}},
	} {
		page := get[eventPage](t, b, "/api/events?"+c.query, http.StatusOK)
		if diff := cmp.Diff(c.want, page.seqs()); diff != "" {
			t.Errorf("%s: seqs (-want +got)\n%s", c.query, diff)
		}
		if page.Count != len(page.Events) {
			t.Errorf("%s: count %d of %d events", c.query, page.Count, len(page.Events))
		}
	}
}

func TestEventsNumbersAndEcho(t *testing.T) {
	t.Parallel()
	b := smallLog(t)
	page := get[eventPage](t, b, "/api/events?role=conversation.main&type=a2a.send,a2a.response&viewCategory=qa_validation", http.StatusOK)
	if page.Total != 5 || page.TotalMatched != 1 || page.AsOfSeq != 6 || page.NextAfter != 6 {
		t.Errorf("total %d, totalMatched %d, asOfSeq %d, nextAfter %d; want 5, 1, 6, 6", page.Total, page.TotalMatched, page.AsOfSeq, page.NextAfter)
	}
	// Every badge keeps its number while one category is chosen.
	if diff := cmp.Diff(map[string]int64{"infra_ops": 1, "qa_validation": 1}, page.CategoryCounts); diff != "" {
		t.Errorf("categoryCounts (-want +got)\n%s", diff)
	}
	if page.Role == nil || *page.Role != "conversation.main" || page.ViewCategory == nil || *page.ViewCategory != "qa_validation" {
		t.Errorf("role %v, viewCategory %v are not repeated", page.Role, page.ViewCategory)
	}
	if diff := cmp.Diff([]string{"a2a.send", "a2a.response"}, page.Type); diff != "" {
		t.Error(diff)
	}
	_, body := b.ask(t, http.MethodGet, "/api/events?role=system.observability&type=x")
	for _, want := range []string{`"events":[]`, `"viewCategory":null`, `"categoryCounts":{}`, `"nextCursor":null`, `"role":"system.observability"`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
}

func TestEventsPagesShowEveryEventOnce(t *testing.T) {
	t.Parallel()
	b := smallLog(t)
	var older []int64
	for query := "limit=2"; query != ""; {
		page := get[eventPage](t, b, "/api/events?"+query, http.StatusOK)
		older = append(page.seqs(), older...)
		query = ""
		if page.NextCursor != nil {
			query = "limit=2&cursor=" + url.QueryEscape(*page.NextCursor)
		}
	}
	if diff := cmp.Diff([]int64{1, 2, 3, 4, 5}, older); diff != "" {
		t.Errorf("with cursors (-want +got)\n%s", diff)
	}
	var newer []int64
	for after := int64(0); after < 6; {
		page := get[eventPage](t, b, fmt.Sprintf("/api/events?limit=2&after=%d", after), http.StatusOK)
		newer = append(newer, page.seqs()...)
		after = page.NextAfter
	}
	if diff := cmp.Diff([]int64{1, 2, 3, 4, 5}, newer); diff != "" {
		t.Errorf("with after (-want +got)\n%s", diff)
	}
}

func TestEventIsItsRecordEnriched(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.importing(t, `{"type":" a2a.send ","agentId":"main","ts":1771588800000.5,"big":12345678901234567890,"html":"<b>&</b>","collabCategory":"mine","seq":"mine","time":"12:00",`+
		`"data":{"toAgent":"ruda","message":"fix the bug","n":1.50,"categoryConfidence":7,"collabIntent":"  debug ","collabSubTags":"mine","deep":{"a":[1e2,"\ud800"]}}}`,
		`{"type":"note","data":"just text"}`)
	_, body := b.ask(t, http.MethodGet, "/api/events")
	for _, want := range []string{
		`"type":"a2a.send"`, `"ts":1771588800000.5`, `"big":12345678901234567890`, `"html":"<b>&</b>"`, `"n":1.50`, `"deep":{"a":[1e2,"\ud800"]}`,
		`"collabIntent":"debug"`, `"seq":1`, `"time":"12:00"`, `"categoryVersion":"v2"`, `"timeSource":"recorded"`,
	} {
		if !strings.Contains(string(body), want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	for _, gone := range []string{`"mine"`, `:7`, `just text`} {
		if strings.Contains(string(body), gone) {
			t.Errorf("%s is still in %s", gone, body)
		}
	}
	page := get[struct{ Events []map[string]any }](t, b, "/api/events", http.StatusOK)
	for _, e := range page.Events {
		data, ok := e["data"].(map[string]any)
		if !ok {
			t.Fatalf("data is %T", e["data"])
		}
		for _, name := range []string{"eventRole", "fromSessionType", "toSessionType", "collabCategory", "collabSubTags", "categoryConfidence", "categorySource"} {
			if diff := cmp.Diff(e[name], data[name]); diff != "" || e[name] == nil {
				t.Errorf("%s differs between event and data\n%s", name, diff)
			}
		}
	}
}

// A parser that knows only one value for a name would refuse the whole answer for one such line.
func TestRepeatedMembersAppearOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.importing(t, `{"type":"a2a.send","agentId":"old","x":1,"ts":5,"ts":1771588800000,"agentId":"main","x":{"y":2},`+
		`"data":{"message":"first","n":1,"message":"second","toAgent":"ruda","\u006d\u0065ssage":"third"}}`)
	_, body := b.ask(t, http.MethodGet, "/api/events")
	for member, want := range map[string]string{`"agentId":`: `"main"`, `"ts":`: `1771588800000`, `"x":`: `{"y":2}`, `"message":`: `"third"`} {
		if strings.Count(string(body), member) != 1 || !strings.Contains(string(body), member+want) {
			t.Errorf("not just %s%s in %s", member, want, body)
		}
	}
	if !strings.Contains(string(body), `{"type":"a2a.send","agentId":"main","x":{"y":2},"ts":1771588800000,"data":{"message":"third","n":1,"toAgent"`) {
		t.Errorf("another order than ECMAScript's: %s", body)
	}
}

func TestEventSaysWhatHappened(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.appending(t, "config.applied", `{"hash":"h","source":"test","agents":[{"id":"ruda"}],"mentions":{"1001":"루다"}}`)
	b.importing(t,
		event("a2a.response", "ruda", 0, `"toAgent":"main","message":"[outcome] blocked: 전달 실패 (<@1001> 바쁨)","outcome":"blocked","waitError":"<@1001> is busy"`),
		event("a2a.response", "ruda", 1, `"toAgent":"main","message":"안녕 <@1001>, <b>done</b>"`),
		event("task.blocked", "ruda", 2, `"taskId":"t","reason":"<@1001>의 승인 대기"`),
		event("task.updated", "ruda", 3, `"taskId":"t"`),
	)
	events := get[eventPage](t, b, "/api/events", http.StatusOK).Events
	got := [][3]string{}
	for _, e := range events {
		got = append(got, [3]string{e.State, e.Reason, e.DisplayText})
	}
	want := [][3]string{
		{"blocked", "@루다 is busy", "전달 실패 (@루다 바쁨)"},
		{"", "", "안녕 @루다, <b>done</b>"},
		{"blocked", "@루다의 승인 대기", "@루다의 승인 대기"},
		{"", "", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("state, reason, displayText (-want +got)\n%s", diff)
	}
}

func TestRedactedEventKeepsItsPlace(t *testing.T) {
	t.Parallel()
	b := smallLog(t)
	if err := b.db.Redact(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	e := get[eventPage](t, b, "/api/events?after=0&limit=1", http.StatusOK).Events[0]
	if !e.Redacted || e.Type != "a2a.send" || e.EventRole != "conversation.main" || e.Data["message"] != nil || e.DisplayText != "" {
		t.Errorf("redacted event is %+v", e)
	}
	if e.Data["collabCategory"] != "infra_ops" {
		t.Errorf("its classification is gone: %v", e.Data)
	}
	get[sessionPage](t, b, "/api/work-sessions", http.StatusOK)
}

func TestHostileTimesDoNoHarm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, ts := range []string{"1e300", "-1e300", "1.7976931348623157e308", "-1.7976931348623157e308", "8640000000000001", "0", "-1", `"soon"`, `"1771588800000"`, "null", "[]"} {
		b.importing(t, fmt.Sprintf(`{"type":"a2a.send","agentId":"main","ts":%s,"data":{"toAgent":"ruda","workSessionId":"ws_%d"}}`, ts, i%2))
	}
	for _, path := range []string{
		"/api/events", "/api/events?since=2026-01-01", "/api/events?until=0", "/api/events?since=-8.64e15&until=8.64e15", "/api/work-sessions",
		"/api/work-sessions?since=1970-01-01", "/api/work-sessions?until=2026-01-01&status=ACTIVE", "/api/work-sessions?status=ARCHIVED,ACTIVE",
		"/api/work-sessions/ws_0", "/api/work-sessions/ws_1?type=a2a.send", "/api/categories", "/api/health",
	} {
		get[map[string]any](t, b, path, http.StatusOK)
	}
	page := get[eventPage](t, b, "/api/events", http.StatusOK)
	if page.Count != 11 {
		t.Fatalf("%d of 11 events", page.Count)
	}
	for i, want := range map[int]string{7: "recorded", 8: ""} { // soon, and a time in a string
		if e := page.Events[i]; e.TimeSource != want || e.Time != at(0) {
			t.Errorf("event %d has the time %.0f by %q, want %.0f by %q", e.Seq, e.Time, e.TimeSource, at(0), want)
		}
	}
}

// FuzzQueryParameters: whatever the query, the answer is JSON, and either an answer or a refusal that names the field.
func FuzzQueryParameters(f *testing.F) {
	b := setup(f)
	b.importing(f,
		event("a2a.send", "main", 0, `"toAgent":"ruda","message":"hi","workSessionId":"ws_a","conversationId":"c"`),
		event("task.started", "ruda", 1, `"taskId":"t","workSessionId":"ws_b"`))
	for _, seed := range []string{
		"", "limit=5", "limit=-1", "limit=1e3", "since=1771588800000", "since=NaN", "until=-8.64e15", "since=1e999", "role=a,b&role=c",
		"type=%00", "viewCategory=all&viewCategory=%ff", "cursor=ZS4x", "cursor=cy4wLjE", "cursor=%F0%9F%A6%80", "after=1&cursor=ZS4x",
		"status=ACTIVE,quiet", "subTag=%ED%95%9C", "include=summary&scope=all", "min_seq=1", "min_seq=99", "a=%zz", "a;b", "&&==&",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		for _, path := range []string{"/api/events", "/api/work-sessions", "/api/work-sessions/ws_a", "/api/health", "/api/categories"} {
			response := b.direct(path, query)
			var body map[string]any
			if err := json.Unmarshal(response.Body.Bytes(), &body); err != nil {
				t.Fatalf("%s?%s: %v in %.200s", path, query, err, response.Body)
			}
			switch response.Code {
			case http.StatusOK, http.StatusNotFound:
			case http.StatusBadRequest, http.StatusServiceUnavailable:
				if field, _ := body["field"].(string); field == "" {
					t.Fatalf("%s?%s: refused without naming the field: %v", path, query, body)
				}
			default:
				t.Fatalf("%s?%s: status %d: %v", path, query, response.Code, body)
			}
		}
	})
}
