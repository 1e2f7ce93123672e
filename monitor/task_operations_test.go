package monitor_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
)

// taskOperator records what it is asked for. It says the same to everything.
type taskOperator struct {
	asked  []string
	says   approval.Operated
	err    error
	ctx    error
	urgent bool // the newest one
}

func (o *taskOperator) note(ctx context.Context, words ...string) (approval.Operated, error) {
	o.asked, o.ctx = append(o.asked, strings.Join(words, " ")), ctx.Err()
	o.urgent = eventstore.IsUrgent(ctx)
	return o.says, o.err
}

func (o *taskOperator) CancelTask(ctx context.Context, id, person, reason string) (approval.Operated, error) {
	return o.note(ctx, "cancel", id, "by", person, reason)
}

func (o *taskOperator) UnblockTask(ctx context.Context, id, person, note string) (approval.Operated, error) {
	return o.note(ctx, "unblock", id, "by", person, note)
}

func (o *taskOperator) ReassignTask(ctx context.Context, id, person, to string) (approval.Operated, error) {
	return o.note(ctx, "reassign", id, "by", person, to)
}

func (o *taskOperator) PrioritiseTask(ctx context.Context, id, person, priority string) (approval.Operated, error) {
	return o.note(ctx, "prioritise", id, "by", person, priority)
}

// What people do to tasks is passed on as it was sent; refusals have a status, a code and the field.
func TestTasksAreChangedByPeople(t *testing.T) {
	t.Parallel()
	const near = "127.0.0.1:1"
	refusing := func(reason, field string) error {
		return &approval.Refusal{Reason: reason, Field: field, Text: "it is so", HintText: "do that", Details: approval.Details{Unknown: reason == task.CodeUnknown}}
	}
	for name, c := range map[string]struct {
		what, body  string
		err         error
		asked       string // "": not asked
		status      int
		code, field string
	}{
		"cancel":               {"cancel", `{"reason":"중복","by":"민수"}`, nil, "cancel task_1 by 민수 중복", 200, "", ""},
		"cancel, no body":      {"cancel", "", nil, "cancel task_1 by api ", 200, "", ""},
		"unblock":              {"unblock", `{"reason":"키"}`, nil, "unblock task_1 by api 키", 200, "", ""},
		"reassign":             {"reassign", `{"to":"seum"}`, nil, "reassign task_1 by api seum", 200, "", ""},
		"reassign to none":     {"reassign", `{"to":" "}`, nil, "", 400, "missing_field", "to"},
		"priority":             {"priority", `{"priority":"low"}`, nil, "prioritise task_1 by api low", 200, "", ""},
		"no priority":          {"priority", `{}`, nil, "", 400, "missing_field", "priority"},
		"no such priority":     {"priority", `{"priority":"huge"}`, nil, "", 400, "invalid_parameter", "priority"},
		"an unknown field":     {"priority", `{"prio":"low"}`, nil, "", 400, "invalid_parameter", "prio"},
		"no text":              {"cancel", `{"reason":1}`, nil, "", 400, "invalid_parameter", "reason"},
		"a name of two lines":  {"cancel", `{"by":"a\nb"}`, nil, "", 400, "invalid_parameter", "by"},
		"a broken body":        {"cancel", `{`, nil, "", 400, "invalid_body", ""},
		"an unknown task":      {"cancel", "", refusing(task.CodeUnknown, "task_id"), "cancel task_1 by api ", 404, "not_found", "id"},
		"another state":        {"unblock", "", refusing(task.CodeState, "task_id"), "unblock task_1 by api ", 409, "wrong_state", "id"},
		"others wait":          {"reassign", `{"to":"seum"}`, refusing(task.CodeDependency, "task_id"), "reassign task_1 by api seum", 409, "conflict", "id"},
		"an unknown agent":     {"reassign", `{"to":"mars"}`, refusing(task.CodeUnknownAgent, "to"), "reassign task_1 by api mars", 400, "invalid_parameter", "to"},
		"the log is not there": {"cancel", "", errors.New("boom"), "cancel task_1 by api ", 500, "internal", ""},
	} {
		o := &taskOperator{says: approval.Operated{ID: "task_1", AgentID: "eden", Status: "cancelled", Priority: "low", By: "민수", Changed: true}, err: c.err}
		b := setup(t, func(opts *monitor.Options) { opts.Operator = o })
		answer := b.from(near, http.MethodPost, "/api/tasks/task_1/"+c.what, c.body)
		newContract(t, b).held(t, operation{http.MethodPost, "/api/tasks/{id}/" + c.what}, c.status, answer)
		var asked []string
		if c.asked != "" {
			asked = []string{c.asked}
		}
		if diff := cmp.Diff(asked, o.asked); diff != "" || o.ctx != nil {
			t.Errorf("%s: %v (-want +got)\n%s", name, o.ctx, diff)
		}
		if o.urgent != (len(asked) > 0) {
			t.Errorf("%s: a person waits, urgent is %v", name, o.urgent)
		}
		if c.code != "" && !strings.Contains(answer.Body.String(), `"code":"`+c.code+`"`) || c.field != "" && !strings.Contains(answer.Body.String(), `"field":"`+c.field+`"`) {
			t.Errorf("%s: %s, want %s of %s", name, answer.Body, c.code, c.field)
		}
	}
	follower := setup(t)
	if answer := follower.from(near, http.MethodPost, "/api/tasks/task_1/cancel", ""); answer.Code != http.StatusConflict || !strings.Contains(answer.Body.String(), "runs_not_available") {
		t.Errorf("where no agents run: %d %s", answer.Code, answer.Body)
	}
}

// A session's name is recorded in place of what the request says.
func TestSessionsSignWithTheirName(t *testing.T) {
	t.Parallel()
	o, d := &taskOperator{}, &decider{}
	b := setup(t, func(opts *monitor.Options) { opts.Operator, opts.Approvals = o, d })
	for _, path := range []string{"/api/tasks/x/cancel", "/api/approvals/x/approve"} {
		r := httptest.NewRequestWithContext(monitor.WithGrant(t.Context(), monitor.Grant{Write: true, By: "민수 (operate)"}), http.MethodPost, "http://127.0.0.1:3847"+path, strings.NewReader(`{"by":"병욱"}`))
		r.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		b.monitor.Handler().ServeHTTP(answer, r)
		if answer.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, answer.Code, answer.Body)
		}
	}
	if want := []string{"cancel x by 민수 (operate) "}; !slices.Equal(o.asked, want) {
		t.Errorf("asked for %q, want %q", o.asked, want)
	}
	if want := []string{"approve x by 민수 (operate)"}; !slices.Equal(d.asked, want) {
		t.Errorf("decided %q, want %q", d.asked, want)
	}
}

// What was decided is listed newest first, with who decided and why; tasks that were merely cancelled are not.
func TestApprovalsDecided(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t)
	b.ownTasks(t) // task_x was cancelled
	rejected := b.tasked(t, "eden", "task_d", coordination.TypeTaskCancelled, 7, coordination.TaskState{Context: ofTask("task_d", "ws_eden"), Reason: "너무 크다", DecidedBy: "민수",
		Progress: "Task rejected by 민수: 너무 크다"})
	b.planned(t, coordination.TypePlanSubmitted, 8, planOf("2", "eden", "task_a", "로그인 계획"))
	approved := b.planned(t, coordination.TypePlanApproved, 9, coordination.Plan{Context: ofTask("task_a", "ws_eden"), PlanID: planID("2"), AgentID: "eden", DecidedBy: "ruda"})
	contract := newContract(t, b)
	contract.check(t, http.MethodGet, "/api/approvals?state=decided", http.StatusOK)
	got := get[approvalPage](t, b, "/api/approvals?state=decided", http.StatusOK)
	if want := []string{planID("2"), "task_d"}; !slices.Equal(got.ids(), want) || got.Decidable || got.Total != 2 {
		t.Fatalf("decided are %q of %d, want %q", got.ids(), got.Total, want)
	}
	want := []*approval.Decision{{Status: "approved", By: "ruda", AtMs: int64(at(9)), Seq: approved},
		{Status: "rejected", By: "민수", Reason: "너무 크다", AtMs: int64(at(7)), Seq: rejected}}
	if diff := cmp.Diff(want, []*approval.Decision{got.Approvals[0].Decision, got.Approvals[1].Decision}); diff != "" || got.Approvals[1].Title != "허락이 필요한 일" ||
		got.Approvals[0].Title != "로그인 계획" {
		t.Errorf("titles %q, %q (-want +got)\n%s", got.Approvals[0].Title, got.Approvals[1].Title, diff)
	}
	for query, want := range map[string][]string{"kind=task": {"task_d"}, "agent=EDEN&limit=1": {planID("2")}, "agent=ruda": nil} {
		if page := get[approvalPage](t, b, "/api/approvals?state=decided&"+query, http.StatusOK); !slices.Equal(page.ids(), want) {
			t.Errorf("%s: %q, want %q", query, page.ids(), want)
		}
	}
}
