package monitor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/monitor"
)

type override struct{ CollabCategory, UpdatedAt, UpdatedBy string }

type categorySet struct {
	OK            bool
	WorkSessionID string
	Override      *override
	Seq           int64
}

type categoryHistory struct {
	WorkSessionID string
	Override      *override
	History       []struct {
		CollabCategory       *string
		UpdatedAt, UpdatedBy string
		Seq                  int64
	}
}

// lines are the history in short: category, by whom.
func (h categoryHistory) lines() []string {
	lines := []string{}
	for _, change := range h.History {
		category := "-"
		if change.CollabCategory != nil {
			category = *change.CollabCategory
		}
		lines = append(lines, strings.TrimSpace(category+" "+change.UpdatedBy))
	}
	return lines
}

// send makes a request with a body.
func (b *testBundle) send(t testing.TB, method, path, body string) (*http.Response, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, answer
}

// has makes sure that there are work sessions of these names.
func (b *testBundle) has(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		b.appending(t, coordination.TypeA2ASend, fmt.Sprintf(`{"toAgent":"ruda","workSessionId":%q}`, name))
	}
}

// say changes a category, which has to succeed.
func (b *testBundle) say(t testing.TB, method, id, body string) (a categorySet) {
	t.Helper()
	response, answer := b.send(t, method, "/api/work-sessions/"+id+"/category", body)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s %s: status %d: %s", method, id, body, response.StatusCode, answer)
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		t.Fatalf("%s %s: %v in %s", method, id, err, answer)
	}
	return a
}

func TestOverrideACategory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.importing(t,
		event("a2a.send", "main", 0, `"workSessionId":"ws_a","fromAgent":"main","toAgent":"ruda","conversationId":"c1","message":"서버를 배포해 주세요"`),
		event("a2a.send", "main", 1, `"workSessionId":"ws_b","fromAgent":"main","toAgent":"ruda","conversationId":"c2","message":"서버를 배포해 주세요"`))
	check := func(when string, wantA, wantB string, counts map[string]int64) {
		t.Helper()
		page := get[sessionPage](t, b, "/api/work-sessions", 200)
		var got []string
		for _, s := range page.Sessions {
			got = append(got, fmt.Sprint(s.CollabCategory, " ", s.CategorySource, " ", s.VotedCategory, " ", s.CategoryLabel, " ", s.UpdatedAt, " ", s.UpdatedBy,
				" ", s.EventCount, " ", s.Threads[0].CollabCategory, " ", s.CollabSubTags))
		}
		if diff := cmp.Diff([]string{wantB, wantA}, got); diff != "" {
			t.Errorf("%s: sessions (-want +got):\n%s", when, diff)
		}
		if !maps.Equal(page.CategoryCounts, counts) {
			t.Errorf("%s: categoryCounts are %v, want %v", when, page.CategoryCounts, counts)
		}
		for category, n := range counts {
			filtered := get[sessionPage](t, b, "/api/work-sessions?viewCategory="+category, 200)
			if filtered.TotalMatched != n || int64(len(filtered.Sessions)) != n || !maps.Equal(filtered.CategoryCounts, counts) {
				t.Errorf("%s: viewCategory=%s has %d matched, %v, badges %v; want %d and %v", when, category, filtered.TotalMatched, filtered.names(),
					filtered.CategoryCounts, n, counts)
			}
		}
		one := get[detail](t, b, "/api/work-sessions/ws_a", 200).Session
		if !strings.HasPrefix(wantA, one.CollabCategory+" "+one.CategorySource+" ") {
			t.Errorf("%s: the session by itself is %s by %s, want %s", when, one.CollabCategory, one.CategorySource, wantA)
		}
		if got := get[eventPage](t, b, "/api/events", 200); got.Events[0].CollabCategory != "infra_ops" || got.Total != 2 {
			t.Errorf("%s: events are %s, %d of them; they do not go by the override, nor is it one of them", when, got.Events[0].CollabCategory, got.Total)
		}
	}
	const voted = "infra_ops event infra_ops 인프라/운영   1 infra_ops [배포]"
	tags := get[detail](t, b, "/api/work-sessions/ws_a", 200).Session.CollabSubTags
	voteLine := strings.Replace(voted, "[배포]", fmt.Sprint(tags), 1)
	check("before", voteLine, voteLine, map[string]int64{"infra_ops": 2})

	set := b.say(t, http.MethodPatch, "ws_a", `{"collabCategory":"biz_strategy","updatedBy":"  운영자 "}`)
	if want := (categorySet{true, "ws_a", &override{"biz_strategy", "2026-02-20T12:00:00.000Z", "운영자"}, 3}); !cmp.Equal(set, want) {
		t.Errorf("PATCH answers %s", cmp.Diff(want, set))
	}
	check("overridden", fmt.Sprint("biz_strategy manual_override infra_ops 비즈니스/전략 2026-02-20T12:00:00.000Z 운영자 1 infra_ops ", tags), voteLine,
		map[string]int64{"infra_ops": 1, "biz_strategy": 1})

	cleared := b.say(t, http.MethodDelete, "ws_a", "")
	if want := (categorySet{true, "ws_a", nil, 4}); !cmp.Equal(cleared, want) {
		t.Errorf("DELETE answers %s", cmp.Diff(want, cleared))
	}
	check("taken back", voteLine, voteLine, map[string]int64{"infra_ops": 2})
	if again := b.say(t, http.MethodDelete, "ws_a", ""); !cmp.Equal(again, cleared) {
		t.Errorf("DELETE of none answers %s", cmp.Diff(cleared, again))
	}
	if head, err := b.db.Head(context.Background()); err != nil || head.Seq != 4 {
		t.Errorf("the log is at %d, %v: DELETE of none is no event", head.Seq, err)
	}
}

// An id may hold anything. With its prefix it means the bare one, unless there is a session of just that name.
func TestOverrideNamesItsSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.importing(t, event("a2a.send", "main", 0, `"workSessionId":"ws:literal"`), event("a2a.send", "main", 1, `"workSessionId":"bare"`))
	named := map[string]string{
		"later":                        "later",
		"a/b%2Fc":                      "a/b/c",
		"%EC%9E%91%EC%97%85%203":       "작업 3",
		"100%25":                       "100%",
		"a%252Fb":                      "a%2Fb",
		"x%2Fcategory":                 "x/category",
		"ws:bare":                      "bare",
		"ws:ws:literal":                "ws:literal",
		"ws:literal":                   "ws:literal",
		"ws:stranger":                  "stranger",
		"category":                     "category",
		"..%2F..%2Fetc":                "../../etc",
		strings.Repeat("%EA%B0%80", 9): strings.Repeat("가", 9),
	}
	for path, want := range named {
		if response, answer := b.send(t, "PATCH", "/api/work-sessions/"+path+"/category", `{"collabCategory":"infra_ops"}`); want != "bare" && want != "ws:literal" &&
			(response.StatusCode != http.StatusNotFound || !strings.Contains(string(answer), `"field":"id"`)) {
			t.Errorf("PATCH %s of a session that there is not: %d %s", path, response.StatusCode, answer)
		}
	}
	for path, want := range named {
		if want != "bare" && want != "ws:literal" {
			b.has(t, want)
		}
		if got := b.say(t, http.MethodPatch, path, `{"collabCategory":"infra_ops"}`); got.WorkSessionID != want {
			t.Errorf("PATCH %s speaks of %q, want %q", path, got.WorkSessionID, want)
		}
		history := get[categoryHistory](t, b, "/api/work-sessions/"+path+"/category", 200)
		if history.WorkSessionID != want || history.Override == nil || len(history.History) == 0 {
			t.Errorf("GET %s: %+v, want the override of %q", path, history, want)
		}
		if got := b.say(t, http.MethodDelete, path, ""); got.WorkSessionID != want || got.Override != nil {
			t.Errorf("DELETE %s answers %+v, want %q without override", path, got, want)
		}
	}
	// Someone spoke of one with just that name: in the file of overrides.
	b.appending(t, "work_session.category_set", `{"workSessionId":"ws:filed","category":"infra_ops"}`)
	if got := b.say(t, http.MethodDelete, "ws:filed", ""); got.WorkSessionID != "ws:filed" {
		t.Errorf("DELETE ws:filed speaks of %q", got.WorkSessionID)
	}
	if page := get[sessionPage](t, b, "/api/work-sessions", 200); page.TotalSessions != int64(len(named)-1) { // two paths are of one
		t.Errorf("there are %d sessions: %v; speaking of one makes none", page.TotalSessions, page.names())
	}
}

func TestOverrideThatIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const path, good, noCategory = "/api/work-sessions/ws/category", `{"collabCategory":"infra_ops"}`, "collabCategory is required and must be a valid category"
	for _, c := range []struct {
		method, path, body string
		status             int
		message            string
	}{
		{"PATCH", path, ``, 400, "Invalid JSON body"},
		{"PATCH", path, `null`, 400, "Invalid JSON body"},
		{"PATCH", path, `[]`, 400, "Invalid JSON body"},
		{"PATCH", path, `"infra_ops"`, 400, "Invalid JSON body"},
		{"PATCH", path, `{"collabCategory":"infra_ops"`, 400, "Invalid JSON body"},
		{"PATCH", path, good + good, 400, "Invalid JSON body"},
		{"PATCH", path, "{\"collabCategory\":\"infra_ops\",\"updatedBy\":\"\xff\"}", 400, "Invalid JSON body"},
		{"PATCH", path, `{"a":` + strings.Repeat("[", 20_000) + `}`, 400, "Invalid JSON body"},
		{"PATCH", path, `{}`, 400, noCategory},
		{"PATCH", path, `{"collabCategory":null}`, 400, noCategory},
		{"PATCH", path, `{"collabCategory":7}`, 400, noCategory},
		{"PATCH", path, `{"collabCategory":["infra_ops"]}`, 400, noCategory},
		{"PATCH", path, `{"collabCategory":"Infra_Ops"}`, 400, noCategory},
		{"PATCH", path, `{"collabCategory":"all"}`, 400, noCategory},
		{"PATCH", path, `{"collabCategory":"infra_ops","updatedBy":"` + strings.Repeat("가", 201) + `"}`, 400, ""},
		{"PATCH", path, `{"collabCategory":"infra_ops","x":"` + strings.Repeat("x", 2<<20) + `"}`, 413, ""},
		{"PATCH", "/api/work-sessions/" + strings.Repeat("x", 1_025) + "/category", good, 400, ""},
		{"PATCH", "/api/work-sessions/%ff/category", good, 400, ""},
		{"PATCH", "/api/work-sessions/%20/category", good, 404, "Not found"},
		{"PATCH", "/api/work-sessions/ws:/category", good, 404, "Not found"},
		{"PATCH", "/api/work-sessions//category", good, 404, "Not found"},
		{"PATCH", "/api/work-sessions/category", good, 405, "Method not allowed"},
		{"PATCH", "/api/work-sessions/ws", good, 405, "Method not allowed"},
		{"DELETE", "/api/work-sessions/ws", ``, 405, "Method not allowed"},
		{"POST", path, good, 405, "Method not allowed"},
		{"PUT", path, good, 405, "Method not allowed"},
	} {
		response, answer := b.send(t, c.method, c.path, c.body)
		var said refusal
		if err := json.Unmarshal(answer, &said); err != nil {
			t.Fatalf("%s %.60s: %v in %.200s", c.method, c.path, err, answer)
		}
		if response.StatusCode != c.status || c.message != "" && said.Error != c.message || said.Code == "" {
			t.Errorf("%s %.60s %.60s: status %d, %+v; want %d %q", c.method, c.path, c.body, response.StatusCode, said, c.status, c.message)
		}
	}
	if head, err := b.db.Head(context.Background()); err != nil || head.Seq != 0 {
		t.Errorf("the log is at %d, %v: what is refused leaves nothing", head.Seq, err)
	}
	b.has(t, "ws")
	// What is no string is passed over, as the original does.
	if got := b.say(t, "PATCH", "ws", `{"collabCategory":"infra_ops","updatedBy":{"name":"ops"},"more":1}`); got.Override.UpdatedBy != "" {
		t.Errorf("updatedBy is %q, want none", got.Override.UpdatedBy)
	}
}

// A caller without permission is refused before the body is read, and a path without a write route before that.
func TestOverrideNeedsPermission(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) { o.Token = "a long token" })
	for path, status := range map[string]int{"/api/work-sessions/ws/category": 401, "/api/work-sessions/ws": 405} {
		if response, answer := b.send(t, "PATCH", path, `nonsense`); response.StatusCode != status {
			t.Errorf("PATCH %s without token: status %d, want %d: %s", path, response.StatusCode, status, answer)
		}
	}
	if response, _ := b.send(t, "DELETE", "/api/work-sessions/ws/category", ``); response.StatusCode != 401 {
		t.Errorf("DELETE without token: status %d, want 401", response.StatusCode)
	}
	get[categoryHistory](t, b, "/api/work-sessions/ws/category", 200)
}
