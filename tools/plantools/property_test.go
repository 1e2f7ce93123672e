package plantools_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
)

// outcome is what came of one who decides.
type outcome struct {
	who, status string // "" is refused
	code        string
}

// decides lets the nth decider decide a plan of eden's: leads, persons, its submitter, and an agent that is no lead.
func (o *fixture) decides(n int, id string, reject bool) outcome {
	name, args, status := "plan_approve", fmt.Sprintf(`{"plan_id":%q}`, id), plan.Approved
	if reject {
		name, args, status = "plan_reject", fmt.Sprintf(`{"plan_id":%q,"reason":"r"}`, id), plan.Rejected
	}
	who := []string{"ruda", "haru", "eden", "seum", fmt.Sprint("person ", n)}[n%5]
	out := outcome{who: who}
	if n%5 == 4 {
		var err error
		if reject {
			_, err = o.service.Reject(o.t.Context(), id, who, "r")
		} else {
			_, err = o.service.Approve(o.t.Context(), id, who)
		}
		if r, is := errors.AsType[*plan.Refusal](err); is {
			out.code = r.Reason
		} else if err == nil {
			out.status = status
		}
		return out
	}
	a, err := o.call(caller(who), name, args)
	if err == nil && a["success"] == true {
		out.status = status
	}
	out.code = a.text("code")
	return out
}

// Of any number of concurrent decisions on a plan exactly one succeeds, unless none of the deciders may; its submitter, and an agent
// that is no lead, never succeeds. The others get an error. Its agent is told once. The gate is open for an approved plan and nowhere
// else, also after a restart.
func TestOneDecidesAndOnlyAnApprovalOpens(t *testing.T) {
	t.Parallel()
	o := setup(t, setting{asleep: true, limits: runqueue.Limits{SessionWaiting: 10_000, Waiting: 10_000}})
	rapid.Check(t, func(rt *rapid.T) {
		taskID, other := o.starts("eden"), o.starts("seum")
		approved := false
		for range rapid.IntRange(1, 3).Draw(rt, "plans") {
			id := o.doesAs(at("eden", "agent:eden:main", taskID), "plan_submit", `{"title":"t","steps":["a"],"tools_requested":["write"]}`).text("planId")
			o.expectMay("pending", at("eden", "agent:eden:main", taskID), "write", approved)
			var kinds, rejects []int
			for range rapid.IntRange(1, 12).Draw(rt, "deciders") {
				kinds = append(kinds, rapid.IntRange(0, 4).Draw(rt, "who"))
				rejects = append(rejects, rapid.IntRange(0, 1).Draw(rt, "rejects"))
			}
			all := together(len(kinds), func(i int) outcome { return o.decides(5*i+kinds[i], id, rejects[i] == 1) })
			var winners []outcome
			possible := false
			for i, out := range all {
				may := kinds[i] != 2 && kinds[i] != 3
				possible = possible || may
				switch {
				case out.status != "" && !may:
					rt.Fatalf("%s, who may not, has %s it", out.who, out.status)
				case out.status != "":
					winners = append(winners, out)
				case !may && out.code != plan.CodeNotAllowed, may && out.code != plan.CodeState:
					rt.Fatalf("%s is told %q", out.who, out.code)
				}
			}
			if len(winners) > 1 || possible != (len(winners) == 1) {
				rt.Fatalf("%d of %+v have decided", len(winners), all)
			}
			want, runs := []string{coordination.TypePlanSubmitted}, 0
			if possible {
				want, runs = append(want, "plan."+winners[0].status), 1
				approved = approved || winners[0].status == plan.Approved
			}
			told := slices.DeleteFunc(o.queued(), func(q coordination.RunQueued) bool { return !strings.HasPrefix(q.RunID, "plan:"+id+":") })
			if got := o.types(id); !slices.Equal(got, want) || len(told) != runs {
				rt.Fatalf("events are %v, want %v; runs %+v", got, want, told)
			}
			if possible && !strings.Contains(told[0].Message, "was "+winners[0].status+" by "+winners[0].who) {
				rt.Fatalf("%+v has decided, told is %s", winners[0], told[0].Message)
			}
		}
		check := func(when string) {
			o.expectMay(when, at("eden", "agent:eden:main", taskID), "write", approved)
			o.expectMay(when, at("eden", "agent:eden:main", taskID), "exec", false)
			o.expectMay(when, at("seum", "agent:seum:main", taskID), "write", false)
			o.expectMay(when, at("seum", "agent:seum:main", other), "write", false)
			next := o.starts("eden")
			o.expectMay(when+", for another task", caller("eden"), "write", false)
			o.does("eden", "task_cancel", `{"task_id":%q}`, next)
		}
		check("live")
		o = o.reopened()
		check("opened again")
		o.does("eden", "task_cancel", `{"task_id":%q}`, taskID)
		o.does("seum", "task_cancel", `{"task_id":%q}`, other)
		o.expectMay("cancelled", at("eden", "agent:eden:main", taskID), "write", false)
	})
}
