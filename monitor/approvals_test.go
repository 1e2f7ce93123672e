package monitor_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/pending"
)

// planned stores an event of a plan, at a minute after noon, and returns its seq.
func (b *testBundle) planned(t testing.TB, typ string, minute float64, data coordination.Plan) int64 {
	t.Helper()
	text := jsonText(t, data)
	r, err := b.db.Append(context.Background(), eventstore.StreamAppend{Stream: coordination.PlanStream(data.PlanID),
		Events: []eventstore.NewEvent{eventstore.NewEvent{Type: typ, AgentID: data.AgentID, Actor: eventstore.ActorAgent, Data: text}.WithTS(int64(at(minute)))}})
	if err != nil {
		t.Fatal(err)
	}
	return r.Seq
}

// planID is the id of a plan that ends so.
func planID(end string) string { return "plan_" + strings.Repeat("0", 20-len(end)) + end }

func planOf(end, agent, task, title string) coordination.Plan {
	return coordination.Plan{Context: ofTask(task, "ws_"+agent), PlanID: planID(end), AgentID: agent, Title: title, StepsCount: 2,
		Steps: []string{"읽기", "쓰기"}, ToolsRequested: []string{"exec"}, SessionKey: "agent:" + agent + ":main"}
}

type approvalPage struct {
	Approvals []approval.Approval
	Count, Total,
	DerivedFromSeq, AsOfSeq int64
	Decidable bool
}

type oneApproval struct {
	Approval  approval.Approval
	Decidable bool
	AsOfSeq   int64
}

func (p approvalPage) ids() (ids []string) {
	for i := range p.Approvals {
		ids = append(ids, p.Approvals[i].ID)
	}
	return ids
}

// Waiting items are listed from the log with everything needed for a decision, the longest wait first; decided ones
// are not listed.
func TestApprovalsListWhatWaits(t *testing.T) {
	t.Parallel()
	b, dir := withOwnTasks(t, func(o *monitor.Options) { o.Approvals = &decider{} })
	contract := newContract(t, b)
	contract.check(t, http.MethodGet, "/api/approvals", http.StatusOK)
	if none := get[approvalPage](t, b, "/api/approvals", http.StatusOK); none.Approvals == nil || none.Total != 0 || !none.Decidable {
		t.Errorf("nothing waits, and that is told as %+v", none)
	}
	b.ownTasks(t)
	put(t, dir, "workspace-eden/plans/p.json", `{"id":"p","status":"pending"}`) // the log is the truth
	seq := b.planned(t, coordination.TypePlanSubmitted, 1, planOf("1", "ruda", "task_r", "조사 계획"))
	b.planned(t, coordination.TypePlanSubmitted, 2, planOf("2", "eden", "task_a", "로그인 계획"))
	b.planned(t, coordination.TypePlanApproved, 3, coordination.Plan{Context: ofTask("task_a", "ws_eden"), PlanID: planID("2"), AgentID: "eden", DecidedBy: "ruda"})
	got := get[approvalPage](t, b, "/api/approvals", http.StatusOK)
	want := []approval.Approval{
		{ID: planID("1"), Kind: "plan", AgentID: "ruda", Title: "조사 계획", Steps: []string{"읽기", "쓰기"}, StepsCount: 2, ToolsRequested: []string{"exec"}, TaskID: "task_r",
			WorkSessionID: "ws_ruda", RequestedAt: stamp(1), RequestedAtMs: int64(at(1)), SessionKey: "agent:ruda:main", DerivedFromSeq: seq},
		{ID: "task_d", Kind: "task", AgentID: "eden", Title: "허락이 필요한 일", Description: "허락이 필요한 일", TaskID: "task_d", WorkSessionID: "ws_eden",
			Priority: "medium", RequestedAt: stamp(3), RequestedAtMs: int64(at(3)), SessionKey: "agent:eden:main",
			DerivedFromSeq: 8},
	}
	if diff := cmp.Diff(want, got.Approvals); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got.Count != 2 || got.Total != 2 || got.DerivedFromSeq != seq || got.AsOfSeq != seq+2 || !got.Decidable {
		t.Errorf("%+v, want two that speak up to %d", got, seq)
	}
	for i := range want {
		contract.check(t, http.MethodGet, "/api/approvals/"+want[i].ID, http.StatusOK)
		one := get[oneApproval](t, b, "/api/approvals/"+want[i].ID, http.StatusOK)
		if diff := cmp.Diff(oneApproval{want[i], true, seq + 2}, one); diff != "" {
			t.Errorf("alone (-want +got):\n%s", diff)
		}
	}
	for _, id := range []string{planID("2"), "task_a", "task_none", "p"} { // decided, started, unknown, of a file
		contract.check(t, http.MethodGet, "/api/approvals/"+id, http.StatusNotFound)
	}
	for query, want := range map[string][]string{"kind=task": {"task_d"}, "kind=plan": {planID("1")}, "agent=RUDA": {planID("1")}, "agent=seum": nil,
		"limit=1": {planID("1")}, "agent=eden&kind=plan": nil} {
		contract.check(t, http.MethodGet, "/api/approvals?"+query, http.StatusOK)
		got := get[approvalPage](t, b, "/api/approvals?"+query, http.StatusOK)
		if !slices.Equal(got.ids(), want) || query == "limit=1" && got.Total != 2 {
			t.Errorf("%s: %q of %d, want %q", query, got.ids(), got.Total, want)
		}
	}
}

// A list stays small whatever agents write: long texts are cut, with their length. A single item is complete.
func TestApprovalsAreListedInBrief(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t)
	const listed, waiting = 5, 40
	long := func(n int) string { return strings.Repeat("가", n) }
	var steps []string
	for range 50 {
		steps = append(steps, long(600))
	}
	for n := range waiting {
		p := planOf(fmt.Sprint(n), "ruda", "task_r", long(160))
		p.Steps, p.StepsCount = steps, len(steps)
		b.planned(t, coordination.TypePlanSubmitted, float64(n+1), p)
	}
	started := coordination.TaskStarted{Context: ofTask("task_z", "ws_eden"), Priority: "low", Description: long(10_000), Progress: "Task started", RequiresApproval: true}
	for n := range 21 {
		started.Steps = append(started.Steps, coordination.TaskStep{ID: fmt.Sprint("s", n), Content: long(300), Status: "pending", Order: n})
	}
	b.tasked(t, "eden", "task_z", coordination.TypeTaskStarted, 0, started)

	path := fmt.Sprint("/api/approvals?limit=", listed)
	if size := b.from("127.0.0.1:1", http.MethodGet, path, "").Body.Len(); size > listed*32<<10 {
		t.Errorf("a list of %d has %d bytes", listed, size)
	}
	got := get[approvalPage](t, b, path, http.StatusOK)
	if want := []string{"task_z", planID("0"), planID("1"), planID("2"), planID("3")}; !slices.Equal(got.ids(), want) || got.Total != waiting+1 {
		t.Fatalf("%q of %d, want %q of %d", got.ids(), got.Total, want, waiting+1)
	}
	for i, want := range []struct {
		step, description string
		steps             int
	}{{long(300), long(1997) + "...", 21}, {long(297) + "...", "", 50}} {
		a := &got.Approvals[i]
		if a.Description != want.description || a.StepsCount != want.steps || len(a.Steps) != 20 || a.Steps[0] != want.step || a.Steps[19] != want.step {
			t.Errorf("%s: %d of %d steps, the first %q, of %.20q", a.ID, len(a.Steps), a.StepsCount, a.Steps[0], a.Description)
		}
		one := get[oneApproval](t, b, "/api/approvals/"+a.ID, http.StatusOK).Approval
		if len(one.Steps) != want.steps || i == 1 && one.Steps[49] != steps[49] || i == 0 && one.Description != started.Description {
			t.Errorf("%s alone is not whole: %d steps, %d bytes of description", a.ID, len(one.Steps), len(one.Description))
		}
	}
}

// How much waits, and since when, does not depend on how much is listed.
func TestApprovalsAreCountedWhateverIsListed(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t)
	for _, minute := range []float64{5, 3, 4} { // not in the order of time
		id := fmt.Sprint("task_", minute)
		b.tasked(t, "eden", id, coordination.TypeTaskStarted, minute, coordination.TaskStarted{Context: ofTask(id, "ws_eden"), Priority: "low",
			Description: "배포", Progress: "Task started", RequiresApproval: true})
	}
	for n, agent := range []string{"ruda", "eden"} {
		b.planned(t, coordination.TypePlanSubmitted, float64(n+1), planOf(fmt.Sprint(n), agent, "task_r", "계획"))
	}
	tasks, plans := pending.Kind{N: 3, SinceMs: int64(at(3))}, pending.Kind{N: 2, SinceMs: int64(at(1))}
	for _, c := range []struct {
		q      pending.Query
		listed int
		want   map[string]pending.Kind
	}{
		{pending.Query{}, 5, map[string]pending.Kind{"task": tasks, "plan": plans}},
		{pending.Query{Limit: 1}, 1, map[string]pending.Kind{"task": tasks, "plan": plans}},
		{pending.Query{Kind: "task", Limit: 2}, 2, map[string]pending.Kind{"task": tasks}},
		{pending.Query{Agent: "eden", Kind: "plan", Limit: 2}, 1, map[string]pending.Kind{"plan": {N: 1, SinceMs: int64(at(2))}}},
		{pending.Query{Agent: "stranger"}, 0, map[string]pending.Kind{}},
	} {
		err := b.db.View(t.Context(), func(tx *sql.Tx) error {
			w, err := pending.Approvals(t.Context(), tx, c.q)
			if err != nil {
				return err
			}
			if diff := cmp.Diff(c.want, w.Kinds); diff != "" || len(w.List) != c.listed {
				t.Errorf("%+v: %d are listed, want %d (-want +got)\n%s", c.q, len(w.List), c.listed, diff)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A task of another gateway waits as long as its file is there.
func TestATaskWhoseFileIsGoneDoesNotWait(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t)
	const path = "workspace-eden/tasks/task_f.md"
	text := "# Task: task_f\n\n## Metadata\n- **Status:** pending_approval\n- **Priority:** high\n- **Created:** " + stamp(0) + "\n\n## Description\n배포\n"
	for _, c := range []struct {
		data  coordination.FileChanged
		waits bool
	}{
		{coordination.FileChanged{Path: path, Change: "add", Text: &text}, true},
		{coordination.FileChanged{Path: path, Change: "unlink"}, false},
	} {
		_, err := b.db.Append(t.Context(), eventstore.StreamAppend{Stream: coordination.FileStream(path), Events: []eventstore.NewEvent{
			{Type: coordination.TypeFileChanged, Actor: eventstore.ActorSystem, Data: jsonText(t, c.data)}}})
		if err != nil {
			t.Fatal(err)
		}
		got := get[approvalPage](t, b, "/api/approvals", http.StatusOK)
		alone := b.from("127.0.0.1:1", http.MethodGet, "/api/approvals/task_f", "").Code == http.StatusOK
		if listed := slices.Equal(got.ids(), []string{"task_f"}); listed != c.waits || alone != c.waits || got.Total != int64(got.Count) {
			t.Errorf("%s: listed %q of %d, shown %t; want it to wait: %t", c.data.Change, got.ids(), got.Total, alone, c.waits)
		}
	}
}

// Where another gateway produces, what waits is that of its files: it is shown, and cannot be decided.
func TestApprovalsOfAnotherGatewayAreShown(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	task := "# Task: x\n\n## Metadata\n- **Status:** %s\n- **Priority:** high\n- **Created:** %s\n- **Work Session:** ws_1\n\n## Description\n배포\n\n## Steps\n- [ ] (s1) 하나\n"
	put(t, state, "workspace-eden/tasks/task_a.md", fmt.Sprintf(task, "pending_approval", stamp(2)))
	put(t, state, "workspace-eden/tasks/task_b.md", fmt.Sprintf(task, "in_progress", stamp(1)))
	put(t, state, "workspace-seum/tasks/task_c.md", fmt.Sprintf(task, "pending_approval", stamp(1)))
	put(t, state, "workspace-seum/plans/p.json", `{"id":"plan_p","agentId":"seum","taskId":"task_c","title":"계획","steps":["하나"],"status":"pending","submittedAt":"`+stamp(3)+`"}`)
	put(t, state, "workspace-seum/plans/q.json", `{"id":"plan_q","agentId":"seum","status":"approved"}`)
	put(t, state, "workspace-seum/plans/broken.json", `{`)
	b := setup(t, inside(state))
	b.planned(t, coordination.TypePlanSubmitted, 1, planOf("1", "ruda", "task_r", "not of that gateway"))
	newContract(t, b).check(t, http.MethodGet, "/api/approvals", http.StatusOK)
	got := get[struct {
		approvalPage
		Invalid []struct{ File string }
	}](t, b, "/api/approvals", http.StatusOK)
	if want := []string{"task_c", "task_a", "plan_p"}; !slices.Equal(got.ids(), want) || got.Decidable || got.DerivedFromSeq != 0 || len(got.Invalid) != 1 {
		t.Fatalf("%+v, want %q", got, want)
	}
	want := []approval.Approval{
		{ID: "task_a", Kind: "task", AgentID: "eden", Title: "배포", Description: "배포", Steps: []string{"하나"}, StepsCount: 1, TaskID: "task_a", WorkSessionID: "ws_1", Priority: "high",
			RequestedAt: stamp(2), RequestedAtMs: int64(at(2))},
		{ID: "plan_p", Kind: "plan", AgentID: "seum", Title: "계획", Steps: []string{"하나"}, StepsCount: 1, TaskID: "task_c", RequestedAt: stamp(3), RequestedAtMs: int64(at(3))},
	}
	if diff := cmp.Diff(want, got.Approvals[1:]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for i := range want {
		one := get[oneApproval](t, b, "/api/approvals/"+want[i].ID, http.StatusOK)
		if diff := cmp.Diff(want[i], one.Approval); diff != "" || one.Decidable {
			t.Errorf("alone, decidable %t (-want +got):\n%s", one.Decidable, diff)
		}
	}
	get[struct{}](t, b, "/api/approvals/plan_q", http.StatusNotFound)
	if got := get[approvalPage](t, b, "/api/approvals?limit=1", http.StatusOK); !slices.Equal(got.ids(), []string{"task_c"}) || got.Count != 1 || got.Total != 3 {
		t.Errorf("one of them is %q of %d", got.ids(), got.Total)
	}
	for _, verb := range []string{"approve", "reject"} {
		answer := b.from("127.0.0.1:1", http.MethodPost, "/api/approvals/task_a/"+verb, `{"reason":"r"}`)
		if answer.Code != http.StatusConflict || !strings.Contains(answer.Body.String(), `"code":"decided_elsewhere"`) {
			t.Errorf("%s: %d %s, want it refused", verb, answer.Code, answer.Body)
		}
	}
}

// decider notes what it is to decide, and answers as it is told to.
type decider struct {
	asked []string
	says  approval.Decided
	err   error
	ctx   error // why it was not to go on
}

func (d *decider) Answer(ctx context.Context, id, person string, values map[string]json.RawMessage) (approval.Decided, error) {
	asked := "approve " + id + " by " + person
	if len(values) > 0 {
		asked += fmt.Sprintf(": %s", values)
	}
	d.asked, d.ctx = append(d.asked, asked), ctx.Err()
	return d.says, d.err
}

func (d *decider) Reject(ctx context.Context, id, person, reason string) (approval.Decided, error) {
	d.asked, d.ctx = append(d.asked, "reject "+id+" by "+person+": "+reason), ctx.Err()
	return d.says, d.err
}

func (d *decider) ApproveAlways(ctx context.Context, id, person, scope string) (approval.Decided, error) {
	d.asked, d.ctx = append(d.asked, "always "+id+" by "+person+": "+scope), ctx.Err()
	return d.says, d.err
}

func (d *decider) Forget(ctx context.Context, id, person string) (approval.Decided, error) {
	d.asked, d.ctx = append(d.asked, "forget "+id+" by "+person), ctx.Err()
	return d.says, d.err
}

// A decision is passed on as it was sent; a refusal has a status, a code and the field, in this API's terms.
func TestApprovalsAreDecided(t *testing.T) {
	t.Parallel()
	const near = "127.0.0.1:1"
	says := approval.Decided{ID: "task_d", Kind: "task", AgentID: "eden", TaskID: "task_d", Status: "in_progress", DecidedBy: "민수"}
	refusing := func(reason, field string, unknown bool) error {
		return &approval.Refusal{Reason: reason, Field: field, Text: "it is so", HintText: "use plan_status", Details: approval.Details{Unknown: unknown}}
	}
	for name, c := range map[string]struct {
		path, body string
		err        error
		asked      string
		status     int
		says       string
	}{
		"approve":                 {"task_d/approve", `{"by":" 민수 "}`, nil, "approve task_d by 민수", 200, `{"ok":true,"id":"task_d","kind":"task","agentId":"eden","taskId":"task_d","status":"in_progress","decidedBy":"민수"}`},
		"approve, without a name": {"task_d/approve", "", nil, "approve task_d by api", 200, `"ok":true`},
		"a blank name":            {"task_d/approve", `{"by":" "}`, nil, "approve task_d by api", 200, `"ok":true`},
		"a number for a name":     {"task_d/approve", `{"by":5}`, nil, "", 400, `{"error":"Bad value 5 for by: it is no text","code":"invalid_parameter","field":"by","hint":"give a string, or leave it out"}`},
		"no name at all":          {"task_d/approve", `{"by":null}`, nil, "", 400, `"code":"invalid_parameter","field":"by"`},
		"another field":           {"task_d/approve", `{"By":"m"}`, nil, "", 400, `{"error":"Unknown field \"By\"","code":"invalid_parameter","field":"By","hint":"remove it; allowed are by"}`},
		"a reason to approve":     {"task_d/approve", `{"by":"m","reason":"r"}`, nil, "", 400, `"code":"invalid_parameter","field":"reason"`},
		"a field too many":        {"task_d/reject", `{"by":"m","reason":"r","force":true}`, nil, "", 400, `"field":"force","hint":"remove it; allowed are by and reason"`},
		"a long field":            {"task_d/approve", `{"` + strings.Repeat("가", 900) + `":""}`, nil, "", 400, `"field":"` + strings.Repeat("가", 77) + `..."`},
		"a list of reasons":       {"task_d/reject", `{"reason":["r"]}`, nil, "", 400, `"code":"invalid_parameter","field":"reason"`},
		"reject":                  {"a%2Fb/reject", `{"reason":"너무 크다\n나눠라","by":"m"}`, nil, "reject a/b by m: 너무 크다\n나눠라", 200, `"ok":true`},
		"an id like a route":      {"x/reject/approve", "{}", nil, "approve x/reject by api", 200, `"ok":true`},
		"no reason":               {"task_d/reject", `{"by":"m"}`, nil, "", 400, `"code":"missing_field","field":"reason","hint":"`},
		"a blank reason":          {"task_d/reject", `{"reason":" \n"}`, nil, "", 400, `"missing_field"`},
		"no body":                 {"task_d/reject", "", nil, "", 400, `"missing_field"`},
		"not an object":           {"task_d/approve", "[]", nil, "", 400, `"invalid_body"`},
		"a name of two lines":     {"task_d/approve", `{"by":"a\nb"}`, nil, "", 400, `"code":"invalid_parameter","field":"by"`},
		"a name that turns":       {"task_d/approve", `{"by":"a\u202eb"}`, nil, "", 400, `"code":"invalid_parameter","field":"by"`},
		"a name of 200 bytes":     {"task_d/approve", `{"by":"` + strings.Repeat("가", 66) + `ab"}`, nil, "approve task_d by " + strings.Repeat("가", 66) + "ab", 200, `"ok":true`},
		"a name of 201 bytes":     {"task_d/approve", `{"by":"` + strings.Repeat("가", 67) + `"}`, nil, "", 400, `for by: it has more than 200 bytes","code":"invalid_parameter","field":"by",`},
		"unknown":                 {"x/approve", "", refusing("unknown_plan", "plan_id", true), "approve x by api", 404, `{"error":"it is so","code":"not_found","field":"id","hint":"GET /api/approvals lists what waits for approval"}`},
		"decided already":         {"x/approve", "", refusing("wrong_state", "plan_id", false), "approve x by api", 409, `{"error":"it is so","code":"wrong_state","field":"id","hint":"use plan_status"}`},
		"not allowed":             {"x/approve", "", refusing("not_allowed", "", false), "approve x by api", 409, `"code":"not_allowed"`},
		"always":                  {"call_1/always", `{"by":"민수","scope":"tool"}`, nil, "always call_1 by 민수: tool", 200, `"ok":true`},
		"always, such calls":      {"call_1/always", "", nil, "always call_1 by api: ", 200, `"ok":true`},
		"a scope to approve":      {"call_1/approve", `{"scope":"tool"}`, nil, "", 400, `"field":"scope"`},
		"forget":                  {"call_1/forget", `{"by":"민수"}`, nil, "forget call_1 by 민수", 200, `"ok":true`},
		"another version":         {"x/approve", "", refusing("conflict", "version", false), "approve x by api", 409, `"code":"conflict","field":"version"`},
		"a bad reason":            {"x/reject", `{"reason":"r"}`, refusing("invalid_plan", "reason", false), "reject x by api: r", 400, `"code":"invalid_parameter","field":"reason"`},
		"the log is full":         {"x/approve", "", &eventstore.DiskFullError{Path: "secret", Err: errors.New("secret")}, "approve x by api", 507, `"disk_full"`},
		"a defect":                {"x/approve", "", errors.New("secret"), "approve x by api", 500, `"internal"`},
		"no id":                   {"%20/approve", "", nil, "", 404, `"not_found"`},
		"no text":                 {"%ff/approve", "", nil, "", 400, `"field":"id"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &decider{says: says, err: c.err}
			b := setup(t, func(o *monitor.Options) { o.Approvals = d })
			answer := b.from(near, http.MethodPost, "/api/approvals/"+c.path, c.body)
			if answer.Code != c.status || !strings.Contains(answer.Body.String(), c.says) || strings.Contains(answer.Body.String(), "secret") {
				t.Errorf("%d %s, want %d with %s", answer.Code, answer.Body, c.status, c.says)
			}
			if got := strings.Join(d.asked, "; "); got != c.asked {
				t.Errorf("asked %q, want %q", got, c.asked)
			}
			o := operation{http.MethodPost, "/api/approvals/{id}/" + c.path[strings.LastIndex(c.path, "/")+1:]}
			newContract(t, b).held(t, o, c.status, answer)
			if answer := b.from("192.0.2.7:1", http.MethodPost, "/api/approvals/x/approve", ""); answer.Code != http.StatusUnauthorized || len(d.asked) > 1 {
				t.Errorf("from elsewhere: %d, asked %q", answer.Code, d.asked)
			}
		})
	}
}

// A client that disconnects after its decision has decided.
func TestADecisionIsMadeThoughTheClientLeaves(t *testing.T) {
	t.Parallel()
	d := &decider{}
	b := setup(t, func(o *monitor.Options) { o.Approvals = d })
	ctx, leave := context.WithCancel(t.Context())
	leave()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:3847/api/approvals/x/approve", http.NoBody)
	r.RemoteAddr = "127.0.0.1:1"
	b.monitor.Handler().ServeHTTP(httptest.NewRecorder(), r)
	if len(d.asked) != 1 || d.ctx != nil {
		t.Errorf("asked %q, and then: %v", d.asked, d.ctx)
	}
}
