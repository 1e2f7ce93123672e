package approvals_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/services/approvals"
)

// People decide what waits, of any kind, and the owner is told once.
func TestPeopleDecide(t *testing.T) {
	t.Parallel()
	m := setup(t)
	first, second := m.task(), m.task()
	open, ofOpen := m.plan()
	closed, ofClosed := m.plan()
	for _, c := range []struct {
		id, person string
		reject     bool
		want       approval.Decided
	}{
		{" " + first + "\n", " 지민 ", false, approval.Decided{ID: first, Kind: "task", AgentID: "eden", TaskID: first, Status: "in_progress", DecidedBy: "지민"}},
		{second, "", true, approval.Decided{ID: second, Kind: "task", AgentID: "eden", TaskID: second, Status: "cancelled", DecidedBy: "operator"}},
		{open, "지민", false, approval.Decided{ID: open, Kind: "plan", AgentID: "eden", TaskID: ofOpen, Status: "approved", DecidedBy: "지민"}},
		{closed, "", true, approval.Decided{ID: closed, Kind: "plan", AgentID: "eden", TaskID: ofClosed, Status: "rejected", DecidedBy: "operator"}},
	} {
		told := m.types()[coordination.TypeRunQueued]
		decide := func() (approval.Decided, error) {
			if c.reject {
				return m.Reject(t.Context(), c.id, c.person, "너무 크다")
			}
			return m.Approve(t.Context(), c.id, c.person)
		}
		done, err := decide()
		if diff := cmp.Diff(c.want, done); err != nil || diff != "" {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
		refused(t, approvals.CodeState, "id", false, decide)
		if n := m.types()[coordination.TypeRunQueued] - told; n != 1 {
			t.Errorf("%s %s: told %d times, want once", c.want.Kind, c.want.Status, n)
		}
	}
	want := map[string]int{"task.approved": 1, "task.cancelled": 1, "plan.approved": 1, "plan.rejected": 1}
	have := map[string]int{}
	for typ, n := range m.types() {
		if _, of := want[typ]; of {
			have[typ] = n
		}
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("decisions (-want +got)\n%s", diff)
	}
}

func refused(t *testing.T, code, field string, unknown bool, decide func() (approval.Decided, error)) {
	t.Helper()
	done, err := decide()
	r, is := errors.AsType[*approval.Refusal](err)
	if !is || r.Code() != code || r.Field != field || r.Details.Unknown != unknown || r.Error() == "" || r.Hint() == "" || done != (approval.Decided{}) {
		t.Errorf("%+v, %#v; want code %s of %s", done, err, code, field)
	}
	if is && (strings.Contains(r.HintText, "task_") || strings.Contains(r.HintText, "plan_")) {
		t.Errorf("people have no tools: %s", r.HintText)
	}
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	m := setup(t)
	waits := m.task()
	plan, started := m.plan()
	for _, c := range []struct {
		name, id, person, reason string
		code, field              string
		unknown                  bool
	}{
		{"no id", " ", "a", "r", approvals.CodeInvalid, "id", false},
		{"no such task", "task_none", "a", "r", approvals.CodeUnknown, "id", true},
		{"no such plan", "plan_none", "a", "r", approvals.CodeUnknown, "id", true},
		{"nothing of the kind", "../../etc\x00", "a", "r", approvals.CodeUnknown, "id", true},
		{"a task that waits for nothing", started, "a", "r", approvals.CodeState, "id", false},
		{"a name of two lines", waits, "a\nb", "r", approvals.CodeInvalid, "by", false},
		{"a name that is long", waits, strings.Repeat("가", 67), "r", approvals.CodeInvalid, "by", false},
		{"an invalid name", plan, "\xff", "r", approvals.CodeInvalid, "by", false},
		{"a name that is not seen", plan, "\u200b", "r", approvals.CodeInvalid, "by", false},
		{"the id of an agent", waits, " RUDA ", "r", approvals.CodeInvalid, "by", false},
		{"the name of an agent", plan, "에덴 kim", "r", approvals.CodeInvalid, "by", false},
		{"what reads as an agent", waits, "ru\u200bda\u202e", "r", approvals.CodeInvalid, "by", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused(t, c.code, c.field, c.unknown, func() (approval.Decided, error) { return m.Approve(t.Context(), c.id, c.person) })
			refused(t, c.code, c.field, c.unknown, func() (approval.Decided, error) { return m.Reject(t.Context(), c.id, c.person, c.reason) })
		})
	}
	for name, reason := range map[string]string{"none": "", "blank": " \n", "NUL": "a\x00", "long": strings.Repeat("x", task.MaxText+1)} {
		for _, id := range []string{waits, plan} {
			t.Run(name+" of "+id[:4], func(t *testing.T) {
				refused(t, approvals.CodeInvalid, "reason", false, func() (approval.Decided, error) { return m.Reject(t.Context(), id, "a", reason) })
			})
		}
	}
	for _, id := range []string{waits, plan} { // and nothing has happened to what waits
		if _, err := m.Approve(t.Context(), id, strings.Repeat("가", 66)); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// Of many concurrent decisions by people one succeeds.
//
// Promise: approvals
func TestOneOfManyDecides(t *testing.T) {
	t.Parallel()
	m := setup(t)
	plan, _ := m.plan()
	for _, id := range []string{m.task(), plan} {
		before := m.types()[coordination.TypeRunQueued]
		errs := make([]error, 10)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() {
				if i%2 == 0 {
					_, errs[i] = m.Approve(t.Context(), id, fmt.Sprint("person ", i))
				} else {
					_, errs[i] = m.Reject(t.Context(), id, fmt.Sprint("person ", i), "r")
				}
			})
		}
		all.Wait()
		decided := 0
		for _, err := range errs {
			if err == nil {
				decided++
				continue
			}
			if r, is := errors.AsType[*approval.Refusal](err); !is || r.Code() != approvals.CodeState {
				t.Errorf("refused: %#v, want code %s", err, approvals.CodeState)
			}
		}
		if n := m.types()[coordination.TypeRunQueued] - before; decided != 1 || n != 1 {
			t.Errorf("%s: %d have decided, told %d times; want one of each", id, decided, n)
		}
	}
}

// Errors of the log are passed on unchanged.
func TestALogThatTakesNothing(t *testing.T) {
	t.Parallel()
	m := setup(t)
	id, person := m.task(), "a"
	plan, _ := m.plan()
	if err := m.db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{id, plan} {
		if _, err := m.Approve(t.Context(), id, person); !errors.Is(err, eventstore.ErrClosed) {
			t.Errorf("approve %s: %v, want %v", id, err, eventstore.ErrClosed)
		}
		if _, err := m.Reject(t.Context(), id, person, "r"); !errors.Is(err, eventstore.ErrClosed) {
			t.Errorf("reject %s: %v, want %v", id, err, eventstore.ErrClosed)
		}
	}
}
