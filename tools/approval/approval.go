// Package approval is what waits for somebody to agree to it: tasks that were asked for with requires_approval, and plans. People decide here,
// by whatever wire; agents have the tools of tools/task and tools/plan.
package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/coordination/task"
)

// Tasks is what an Office needs of the desk of tasks. Errors are *task.Refusal, or the log's.
type Tasks interface {
	Approve(ctx context.Context, taskID, person string) (*task.Task, error)
	Reject(ctx context.Context, taskID, person, reason string) (*task.Task, error)
}

// Plans is what an Office needs of the desk of plans. Errors are *plan.Refusal, or the log's.
type Plans interface {
	Approve(ctx context.Context, planID, person string) (*plan.Plan, error)
	Reject(ctx context.Context, planID, person, reason string) (*plan.Plan, error)
}

// Office is where people decide. Its methods may be called by many goroutines. Nobody decides in the name of an agent: those of Config are no
// names of people.
type Office struct {
	Tasks  Tasks
	Plans  Plans
	Config func() *config.Config // in force
}

// Kinds of what waits.
const (
	KindTask = "task"
	KindPlan = "plan"
)

// Decided is what was decided.
type Decided struct {
	ID        string
	Kind      string
	AgentID   string // whose it is
	TaskID    string
	Status    string // afterwards
	DecidedBy string
}

// Refusal says why it was not decided. It has a code, a text and a mend whatever it is about.
type Refusal struct {
	Reason, Field, Text, Mend string
	Unknown                   bool // there is no such thing, or none that can be decided
}

func (r *Refusal) Error() string { return r.Text }
func (r *Refusal) Code() string  { return r.Reason }
func (r *Refusal) Hint() string  { return r.Mend }

// Codes of refusals. Others are those of tasks and plans.
const (
	CodeInvalid = "invalid_approval" // the id, the name or the reason is none
	CodeUnknown = "unknown_approval" // there is no such task, and no such plan
	CodeState   = task.CodeState     // it waits for nothing, or not any more; of plans, too
)

// Approve agrees to what has that id. A person without a name is DefaultPerson. Errors are *Refusal, or the log's.
func (o *Office) Approve(ctx context.Context, id, person string) (Decided, error) {
	return o.decide(id, person, verdict{
		task: func(id, person string) (*task.Task, error) { return o.Tasks.Approve(ctx, id, person) },
		plan: func(id, person string) (*plan.Plan, error) { return o.Plans.Approve(ctx, id, person) },
	})
}

// Reject does not. Whose it is, is told the reason, which has to be given. A person and errors are as of Approve.
func (o *Office) Reject(ctx context.Context, id, person, reason string) (Decided, error) {
	if coordination.TrimJS(reason) == "" {
		return Decided{}, &Refusal{Reason: CodeInvalid, Field: "reason", Text: "reason is missing or blank", Mend: "say why: whose it is, is told"}
	}
	return o.decide(id, person, verdict{
		task: func(id, person string) (*task.Task, error) { return o.Tasks.Reject(ctx, id, person, reason) },
		plan: func(id, person string) (*plan.Plan, error) { return o.Plans.Reject(ctx, id, person, reason) },
	})
}

// verdict is the same decision on a task and on a plan.
type verdict struct {
	task func(id, person string) (*task.Task, error)
	plan func(id, person string) (*plan.Plan, error)
}

// decide decides on the task or the plan of that id. Its prefix says which it should be; what others have made need not keep to that.
func (o *Office) decide(id, person string, v verdict) (Decided, error) {
	id = coordination.TrimJS(id)
	if id == "" {
		return Decided{}, &Refusal{Reason: CodeInvalid, Field: "id", Text: "id is missing or blank", Mend: mendList}
	}
	person, err := o.nameOf(person)
	if err != nil {
		return Decided{}, err
	}
	kinds := []func() (Decided, error){
		func() (Decided, error) { return onTask(id, person, v) },
		func() (Decided, error) { return onPlan(id, person, v) },
	}
	if strings.HasPrefix(id, planPrefix) {
		kinds[0], kinds[1] = kinds[1], kinds[0]
	}
	for _, on := range kinds {
		done, err := on()
		if r, is := errors.AsType[*Refusal](err); !is || !r.Unknown {
			return done, err
		}
	}
	return Decided{}, &Refusal{Reason: CodeUnknown, Field: "id", Text: fmt.Sprintf("there is no task and no plan %q", shown(id)), Mend: mendList,
		Unknown: true}
}

const (
	planPrefix = "plan_"
	mendList   = "openclawd approvals lists what waits"
)

func onTask(id, person string, v verdict) (Decided, error) {
	t, err := v.task(id, person)
	if r, is := errors.AsType[*task.Refusal](err); is {
		return Decided{}, refusal(r.Reason, r.Field, r.Text, r.Mend, r.Reason == task.CodeUnknown)
	}
	if err != nil {
		return Decided{}, err
	}
	return Decided{ID: t.ID, Kind: KindTask, AgentID: t.Agent, TaskID: t.ID, Status: t.Status, DecidedBy: person}, nil
}

func onPlan(id, person string, v verdict) (Decided, error) {
	p, err := v.plan(id, person)
	if r, is := errors.AsType[*plan.Refusal](err); is {
		return Decided{}, refusal(r.Reason, r.Field, r.Text, r.Mend, r.Reason == plan.CodeUnknown)
	}
	if err != nil {
		return Decided{}, err
	}
	return Decided{ID: p.ID, Kind: KindPlan, AgentID: p.Agent, TaskID: p.TaskID, Status: p.Status, DecidedBy: cmp.Or(p.DecidedBy, person)}, nil
}

// refusal is what tasks and plans say, in the words of people: they have no tools.
func refusal(reason, field, text, mend string, unknown bool) *Refusal {
	switch field {
	case "task_id", "plan_id":
		field = "id"
	}
	switch {
	case reason == task.CodeInvalid, reason == plan.CodeInvalid:
		reason = CodeInvalid
	case reason == CodeState, unknown:
		mend = mendList
	}
	return &Refusal{Reason: reason, Field: field, Text: text, Mend: mend, Unknown: unknown}
}

// DefaultPerson is who decides where nobody says it.
const DefaultPerson = "operator"

// maxPerson is how many bytes the name of a person has at most: as many as tasks take.
const maxPerson = 200

// nameOf is the name that a person is known by in the log.
func (o *Office) nameOf(person string) (string, error) {
	name := cmp.Or(coordination.Mask(coordination.TrimJS(person)), DefaultPerson)
	switch {
	case !utf8.ValidString(name), len(name) > maxPerson, strings.ContainsFunc(name, unicode.IsControl), seen(name) == "":
		return "", &Refusal{Reason: CodeInvalid, Field: "by", Text: fmt.Sprintf("%q is no name", shown(name)),
			Mend: fmt.Sprintf("give a name of one line and at most %d bytes, or none", maxPerson)}
	case o.isAgent(name):
		return "", &Refusal{Reason: CodeInvalid, Field: "by", Text: fmt.Sprintf("%q is an agent, and people decide here", shown(name)),
			Mend: "give your own name"}
	}
	return name, nil
}

// isAgent reports whether a name reads as that of an agent, by its id or its name. Capitals make no difference, nor does what is not seen.
func (o *Office) isAgent(name string) bool {
	name = seen(name)
	conf := o.Config()
	return name == conf.DefaultAgentID() ||
		slices.ContainsFunc(conf.Agents, func(a config.Agent) bool { return name == seen(a.ID) || name == seen(a.Name) })
}

// seen is what somebody sees of a name, capitals alike.
func seen(name string) string {
	return strings.ToLower(coordination.TrimJS(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, name)))
}

// maxShown is how many characters of something wrong a refusal shows.
const maxShown = 80

// shown is enough of a text to find it by.
func shown(text string) string {
	return coordination.Head(coordination.Mask(strings.ToValidUTF8(text, "\uFFFD")), maxShown)
}
