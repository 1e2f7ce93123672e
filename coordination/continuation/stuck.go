package continuation

import (
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
)

// Stuck summarises the backlog tasks that can never begin: a dependency is over and not completed, or unknown. The
// zero value means none. Add fills it, except for Since.
type Stuck struct {
	Number int // number of tasks

	First     *task.Task // the first unreported one; nil: all were reported
	DependsOn string     // its dependency
	Status    string     // state of that, "" if unknown
	Since     int64      // last change of that, ms since 1970; 0 if unknown
}

// Add adds the next backlog task. states are those of its dependencies, as in task.Pickable; st is its agent's State.
func (s *Stuck) Add(st *State, t *task.Task, states map[string]string) {
	var gone []string
	for _, id := range t.Backlog.DependsOn {
		status := states[id]
		over := task.Terminal(status) && status != coordination.StateCompleted
		if status != "" && !over && id != t.ID {
			continue
		}
		if called(id) == st.care(t.ID).Gone {
			s.Number++
			return
		}
		gone = append(gone, id)
	}
	if len(gone) == 0 {
		return
	}
	if s.Number++; s.First == nil {
		s.First, s.DependsOn, s.Status = t, gone[0], states[gone[0]]
	}
}

// called makes a dependency printable: files may contain any text.
func called(id string) string {
	if name := line(coordination.Mask(id)); name != "" {
		return name
	}
	return "no task"
}

// deadDependency describes a dependency that will never be completed.
func deadDependency(d *Decision) string {
	switch {
	case d.DependsOn == d.TaskID:
		return "it depends on itself"
	case d.Status == "":
		return "it depends on " + d.DependsOn + ", which is unknown"
	}
	return "it depends on " + d.DependsOn + ", which is " + d.Status
}

// stuck reports a backlog task that can never start to the lead and to people, after a pause in which the agent may still cancel it.
func (p *prospect) stuck() (Decision, bool) {
	s := &p.Stuck
	switch {
	case p.focus != nil || s.Number == 0:
		return Decision{}, false
	case s.First == nil:
		p.wait(Told, 0)
		return Decision{}, false
	case p.until(NotYet, p.latest(s.First.ActiveAt+ms(p.Policy.Idle), s.Since+ms(p.Policy.Idle))):
		return Decision{}, false
	}
	d := p.act(Escalate, DependencyGone, s.First)
	d.DependsOn, d.Status = called(s.DependsOn), s.Status
	d.To, d.Visible = p.lead(), true
	d.Prompt = gonePrompt(p.Agent, s.First, &d, s.Number)
	return d, true
}
