package milestone_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Milestones are created, get items, have them assigned and changed, and are listed, in Task-Hub's own terms.
func TestMilestonesAreKept(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	o := setup(t, h)
	token := "ghp_" + strings.Repeat("a1B2", 9)
	m := o.does(t, "ruda", "milestone_create", `{"title":" 출시 ","description":"the token is %s","due_date":"2026-12-01"}`, token)
	if m.text("milestoneId") != "m1" {
		t.Errorf("created: %v", m)
	}
	i := o.does(t, "ruda", "milestone_add_item", `{"milestone_id":"m1","title":"docs","description":"all of them"}`)
	if i.text("itemId") != "i1" || i.text("milestoneId") != "m1" {
		t.Errorf("added: %v", i)
	}
	a := o.does(t, "ruda", "milestone_assign_item", `{"milestone_id":"m1","item_id":"i1","assignee":"Eden"}`)
	for _, want := range []string{"task_backlog_add", `assignee "eden"`, `milestone_id "m1"`, `milestone_item_id "i1"`} {
		if !strings.Contains(a.text("next"), want) {
			t.Errorf("assigned: %q, want %s in it", a.text("next"), want)
		}
	}
	o.does(t, "eden", "milestone_update_item", `{"milestone_id":"m1","item_id":"i1","status":"in_progress","task_id":"task_x"}`)
	o.does(t, "ruda", "milestone_update_item", `{"milestone_id":"m1","item_id":"i1","title":"all docs","assignee":"seum","task_id":"task_y"}`)
	want := []string{
		`POST /api/milestones {"title":"출시","description":"the token is ***","targetDate":"2026-12-01"}`,
		`POST /api/milestones/m1/items {"title":"docs","description":"all of them"}`,
		`PUT /api/milestones/m1/items/i1 {"assigneeAgent":"eden","status":"in_progress","linkedTaskRef":{"agentId":"eden","taskId":"pending_i1"}}`,
		`PUT /api/milestones/m1/items/i1 {"status":"in_progress","linkedTaskRef":{"agentId":"eden","taskId":"task_x"}}`,
		`PUT /api/milestones/m1/items/i1 {"title":"all docs","assigneeAgent":"seum","linkedTaskRef":{"agentId":"seum","taskId":"task_y"}}`,
	}
	var got []string
	for _, r := range h.asked() {
		got = append(got, r.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("asked of Task-Hub, -want +got:\n%s", diff)
	}
	list := o.does(t, "seum", "milestone_list", `{}`)
	if list["count"] != 1.0 || fmt.Sprint(list["milestones"]) != "[map[_id:m1 description:the token is *** status:planning targetDate:2026-12-01 title:출시]]" {
		t.Errorf("listed: %v", list)
	}
	if list := o.does(t, "seum", "milestone_list", `{"status":"Planning"}`); list["count"] != 1.0 {
		t.Errorf("planning: %v", list)
	}
	if list := o.does(t, "seum", "milestone_list", `{"status":"completed"}`); list["count"] != 0.0 || fmt.Sprint(list["milestones"]) != "[]" {
		t.Errorf("completed: %v", list)
	}
	if list := o.does(t, "seum", "milestone_list", `{"milestone_id":"m1"}`); list["count"] != 1.0 || !strings.Contains(fmt.Sprint(list["items"]), "title:all docs") {
		t.Errorf("items: %v", list)
	}
}

// Failures are reported with what to do, without anything that Task-Hub should not show.
func TestRefusals(t *testing.T) {
	t.Parallel()
	h := newHub(t).with(1)
	o := setup(t, h)
	cut := func(w http.ResponseWriter, _ *http.Request) bool { panic(http.ErrAbortHandler) }
	token := "ghp_" + strings.Repeat("a1B2", 9)
	put := `{"milestone_id":"m1","item_id":"i1","status":"done"}`
	for name, c := range map[string]struct {
		tool, args string
		bad        func(http.ResponseWriter, *http.Request) bool
		code       string
		says, hint string // parts of them
	}{
		"an unknown milestone":  {"milestone_list", `{"milestone_id":"m9"}`, nil, "not_found", "no such milestone", "milestone_list"},
		"an unknown item":       {"milestone_update_item", `{"milestone_id":"m1","item_id":"i9","status":"done"}`, nil, "not_found", "no such item", "milestone_list"},
		"a path":                {"milestone_update_item", `{"milestone_id":"m1","item_id":"../../admin","status":"done"}`, nil, "invalid_arguments", "an id", "milestone_list"},
		"dots":                  {"milestone_add_item", `{"milestone_id":"..","title":"x"}`, nil, "invalid_arguments", "an id", "milestone_list"},
		"space":                 {"milestone_list", `{"milestone_id":" . "}`, nil, "invalid_arguments", "an id", "milestone_list"},
		"nothing to change":     {"milestone_update_item", `{"milestone_id":"m1","item_id":"i1"}`, nil, "invalid_arguments", "nothing", "status"},
		"stranger":              {"milestone_assign_item", `{"milestone_id":"m1","item_id":"i1","assignee":"stranger"}`, nil, "invalid_arguments", `"stranger"`, "agents_list"},
		"a utility agent":       {"milestone_assign_item", `{"milestone_id":"m1","item_id":"i1","assignee":"quick"}`, nil, "invalid_arguments", `"quick"`, "agents_list"},
		"a bad date":            {"milestone_create", `{"title":"x"}`, says(400, "", "", `{"error":"targetDate is missing"}`), "task_hub_refused", "targetDate", "ask again"},
		"no cookie":             {"milestone_list", `{}`, says(401, "", "", `{"error":"log in"}`), "task_hub_refused", "log in", "tell a person"},
		"too many requests":     {"milestone_update_item", put, says(429, "Retry-After", "7", ``), "task_hub_failed", "Too Many Requests", "in 7s"},
		"broken, on reading":    {"milestone_list", `{}`, says(500, "", "", `{"error":"boom"}`), "task_hub_failed", "boom", "later"},
		"broken, on changing":   {"milestone_update_item", put, says(500, "", "", `<html>`), "task_hub_failed", "Internal Server Error", "may have been done"},
		"cut off, on reading":   {"milestone_list", `{}`, cut, "task_hub_unreachable", "no answer", "later"},
		"cut off, on changing":  {"milestone_create", `{"title":"x"}`, cut, "task_hub_unreachable", "no answer", "may have been done"},
		"a page":                {"milestone_list", `{}`, says(200, "", "", `<html>log in</html>`), "task_hub_unreadable", "not JSON", "tell a person"},
		"a page, on changing":   {"milestone_update_item", put, says(200, "", "", `not json`), "task_hub_unreadable", "not JSON", "may have been done"},
		"an answer of 2 MiB":    {"milestone_list", `{}`, says(200, "", "", `"`+strings.Repeat("x", 2<<20)+`"`), "task_hub_unreadable", "too long", "tell a person"},
		"no list":               {"milestone_list", `{}`, says(200, "", "", `{"ok":true}`), "task_hub_unreadable", "not a list", "tell a person"},
		"nothing at all":        {"milestone_list", `{}`, says(204, "", "", ``), "task_hub_unreadable", "not a list", "tell a person"},
		"a secret":              {"milestone_list", `{}`, says(500, "", "", `{"error":"`+token+"\\r\\n"+cookie+`"}`), "task_hub_failed", "*** ***", "later"},
		"a redirect to a login": {"milestone_update_item", put, says(302, "Location", "/login", ``), "task_hub_unreachable", "redirects", "may have been done"},
	} {
		h.bad(c.bad)
		a, out, err := o.call("ruda", "", c.tool, c.args)
		if err != nil || a["success"] != false || a.text("code") != c.code || !strings.Contains(a.text("error"), c.says) || !strings.Contains(a.text("hint"), c.hint) {
			t.Errorf("%s: %v, %v; want code %s, %q, hint %q", name, a, err, c.code, c.says, c.hint)
		}
		if strings.Contains(out.Text, token) || strings.Contains(out.Text, cookie) || len(out.Text) > 1000 {
			t.Errorf("%s: shows too much: %.1200s", name, out.Text)
		}
	}
	if strings.Contains(o.logged.String(), cookie) {
		t.Errorf("the cookie is in the log: %s", o.logged)
	}
}

// Ids with path elements are never requested.
func TestIDsStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	h := newHub(t).with(1)
	o := setup(t, h)
	for _, id := range []string{"..", ".", "a/b", "../..", `a\\b`, "%2e%2e", "a%2fb", `\u0000`, `a\nb`, "/", "//evil.example"} {
		for tool, args := range map[string]string{
			"milestone_list": `{"milestone_id":"` + id + `"}`, "milestone_add_item": `{"milestone_id":"` + id + `","title":"x"}`,
			"milestone_assign_item": `{"milestone_id":"` + id + `","item_id":"i1","assignee":"eden"}`,
			"milestone_update_item": `{"milestone_id":"m1","item_id":"` + id + `","title":"x"}`,
		} {
			if a, _, err := o.call("ruda", "", tool, args); err != nil || a.text("code") != "invalid_arguments" {
				t.Errorf("%s %s: %v, %v", tool, args, a, err)
			}
		}
	}
	for _, args := range []string{`{"milestone_id":"","title":"x"}`, `{"milestone_id":"m1"}`, `{"milestone_id":"m1","title":""}`,
		`{"milestone_id":"` + strings.Repeat("x", 201) + `","title":"x"}`, `{"milestone_id":"m1","title":"x","url":"http://evil.example"}`} {
		var refused *tool.Error
		if _, _, err := o.call("ruda", "", "milestone_add_item", args); !errors.As(err, &refused) || refused.Code != tool.CodeInvalid {
			t.Errorf("%.100s: %v", args, err)
		}
	}
	if len(h.requests) != 0 {
		t.Errorf("Task-Hub was asked: %v", h.requests)
	}
}

// However much Task-Hub has, an answer is bounded and says what it leaves out.
func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	o := setup(t, h)
	for i := range 40 {
		h.milestones = append(h.milestones, map[string]any{"_id": fmt.Sprint("m", i), "status": "active", "description": strings.Repeat("설명", 700)})
	}
	h.milestones[3]["description"] = "-----BEGIN RSA PRIVATE KEY-----" // which takes the rest with it
	a, out, err := o.call("ruda", "", "milestone_list", `{}`)
	shown, _ := a["milestones"].([]any)
	if err != nil || a["count"] != 40.0 || len(shown) < 10 || a["omitted"] != float64(40-len(shown)) || a.text("hint") == "" || len(out.Text) > 70<<10 {
		t.Errorf("%d bytes, %d of %v shown, %v omitted, hint %q, %v", len(out.Text), len(shown), a["count"], a["omitted"], a["hint"], err)
	}
	h.bad(says(200, "", "", `[{"_id":"m1","note":"`+strings.Repeat("x", 65<<10)+`"},{"_id":"m2"}]`))
	if a := o.does(t, "ruda", "milestone_list", `{}`); fmt.Sprint(a["milestones"], a["omitted"]) != "[map[_id:m2]] 1" {
		t.Errorf("beside one that is too long: %.200v", a)
	}
	h.bad(says(200, "", "", `[{"_id":"m1","status":7},{"_id":"m2","status":"active"},3,null]`))
	if a := o.does(t, "ruda", "milestone_list", `{"status":"active"}`); fmt.Sprint(a["milestones"]) != "[map[_id:m2 status:active]]" {
		t.Errorf("a list alone: %v", a)
	}
	h.bad(says(201, "", "", `{"id":"m7","note":"`+strings.Repeat("x", 9<<10)+`"}`))
	if a := o.does(t, "ruda", "milestone_create", `{"title":"x"}`); a.text("milestoneId") != "m7" || a["taskHub"] != nil {
		t.Errorf("a long answer: %.200v", a)
	}
}

// A creation has one key for repetitions of a call, and another one for another call.
func TestARepeatedCallIsKnownAsOne(t *testing.T) {
	t.Parallel()
	h := newHub(t).with(1)
	o := setup(t, h)
	keys := map[string]int{}
	for _, c := range []struct{ agent, callID, tool, args string }{
		{"ruda", "c1", "milestone_create", `{"title":"x"}`}, {"ruda", "c1", "milestone_create", `{"title":"x"}`},
		{"ruda", "c2", "milestone_create", `{"title":"x"}`}, {"ruda", "c1", "milestone_create", `{"title":"y"}`}, {"eden", "c1", "milestone_create", `{"title":"x"}`},
		{"ruda", "c1", "milestone_add_item", `{"milestone_id":"m1","title":"x"}`}, {"ruda", "c1", "milestone_add_item", `{"milestone_id":"m2","title":"x"}`},
	} {
		if a, _, err := o.call(c.agent, c.callID, c.tool, c.args); err != nil || a["success"] != true {
			t.Fatalf("%+v: %v, %v", c, a, err)
		}
	}
	for _, r := range h.asked() {
		keys[r.key]++
	}
	if len(keys) != 6 || keys[""] != 0 || keys[h.requests[0].key] != 2 {
		t.Errorf("keys: %v", keys)
	}
	o.does(t, "ruda", "milestone_create", `{"title":"x"}`)
	if last := h.requests[len(h.requests)-1]; last.key != "" {
		t.Errorf("a call without repetitions has the key %q", last.key)
	}
}

// A call that a run repeats after a restart is recognised; another run that asks for the same is not a repetition.
func TestAnotherRunMeansAnotherItem(t *testing.T) {
	t.Parallel()
	h := newHub(t).with(1)
	o := setup(t, h)
	for _, r := range []coordination.RunQueued{{RunID: "r1"}, {RunID: "r1 again", RetryOf: "r1"}, {RunID: "r2"}} {
		r.SessionKey, r.Cause, r.Message = "agent:ruda:main", "chat", "m"
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		_, err = o.db.Append(t.Context(), eventstore.StreamAppend{Stream: coordination.RunStream(r.RunID),
			Events: []eventstore.NewEvent{{Type: coordination.TypeRunQueued, AgentID: "ruda", Data: data}}})
		if err != nil {
			t.Fatal(err)
		}
		if a, _, err := o.callIn(r.RunID, "ruda", "c1", "milestone_add_item", `{"milestone_id":"m1","title":"weekly report"}`); err != nil || a["success"] != true {
			t.Fatalf("%v, %v", a, err)
		}
	}
	keys := map[string]int{}
	for _, r := range h.asked() {
		keys[r.key]++
	}
	if len(keys) != 2 || keys[""] != 0 || keys[h.requests[0].key] != 2 {
		t.Errorf("keys: %v", keys)
	}
}

// Sub-agents and utility agents keep no milestones. A caller that has left gets no answer.
func TestWhoMayKeepMilestones(t *testing.T) {
	t.Parallel()
	o := setup(t, newHub(t).with(1))
	names := func(c tool.Caller) (list []string) {
		for _, s := range o.box.Offer(c) {
			if strings.HasPrefix(s.Name, "milestone_") {
				list = append(list, s.Name)
			}
		}
		return list
	}
	all := []string{"milestone_add_item", "milestone_assign_item", "milestone_create", "milestone_list", "milestone_update_item"}
	main := tool.Caller{Entry: tool.ByRun, AgentID: "ruda", SessionKey: coordination.MainKey("ruda").String()}
	if diff := cmp.Diff(all, names(main)); diff != "" {
		t.Errorf("offered to an agent, -want +got:\n%s", diff)
	}
	for _, c := range []tool.Caller{
		{Entry: tool.ByRun, AgentID: "ruda", SessionKey: "agent:ruda:subagent:1"},
		{Entry: tool.ByRun, AgentID: "quick", SessionKey: coordination.MainKey("quick").String()},
	} {
		if got := names(c); got != nil {
			t.Errorf("offered to %s: %v", c.SessionKey, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := o.box.Call(ctx, main, "milestone_list", json.RawMessage(`{}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("of a call that is over: %v", err)
	}
}
