package continuation

import (
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
)

// Stuck are the tasks of a backlog that wait in vain: something that they depend on is over and not completed, or is not known. The zero value is
// that there is none. Add fills it, but for Since.
type Stuck struct {
	Number int // of them

	First     *task.Task // the first of them of which nobody was told; nil: somebody was told of all
	DependsOn string     // what that one waits for
	Status    string     // how that stands, "" where it is not known
	Since     int64      // when that has changed last, ms since 1970; 0 where nobody knows
}

// Add takes in the next task of the backlog. states are those of what it depends on, as of task.Pickable; st is the State of its agent.
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

// called is a dependency as it is told: files may have anything in its place.
func called(id string) string {
	if name := line(coordination.Mask(id)); name != "" {
		return name
	}
	return "no task"
}

// inVain says what a task waits for that never comes.
func inVain(d *Decision) string {
	switch {
	case d.DependsOn == d.TaskID:
		return "it depends on itself"
	case d.Status == "":
		return "it depends on " + d.DependsOn + ", which is not known"
	}
	return "it depends on " + d.DependsOn + ", which is " + d.Status
}

// stuck tells the lead, and people, of a task of the backlog that can never begin. Who has just ended what it depends on has time to end it too.
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
