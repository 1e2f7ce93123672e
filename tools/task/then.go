package task

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools/a2a"
	"github.com/pronto-lab/openclawd/tools/once"
)

// Changed is a task after a change, with the events of the change.
type Changed struct {
	task.Task
	Was    string // the state that it was in before; "" of one that is new
	Events []task.Event
	By     string // the agent, or the person, who has made it
	Human  bool
	RunID  string // the run in which it is made; "" outside of runs
}

// Then says what follows from a change of a task, and is appended with it. It reads nothing but tx and is quick. It may be called again about a
// change that was not stored; about one that was it is not, however often the same call is made. An error stands against the change.
//
// It is asked of all that agents and people change by a Desk, and of the stop guard. It is not asked where nobody decides: when a delegation
// moves, when a task is begun or taken away so that its agent goes on, and when a file says something new of it.
type Then func(tx eventstore.Tx, c *Changed, now time.Time) ([]eventstore.StreamAppend, error)

// follows is what follows from a change whose events are about to be appended to a task that was in that state.
func (d *Desk) follows(tx eventstore.Tx, c *change, done *changed, was string, now time.Time) (appends []eventstore.StreamAppend, err error) {
	if len(d.o.Then) == 0 {
		return nil, nil
	}
	after, err := done.ahead(tx)
	if err != nil {
		return nil, err
	}
	for _, then := range d.o.Then {
		more, err := then(tx, &Changed{Task: after, Was: was, Events: slices.Clone(done.Events), By: c.asked.By, Human: c.asked.Human, RunID: c.call.RunID}, now)
		if err != nil {
			return nil, err
		}
		appends = append(appends, more...)
	}
	return appends, nil
}

const (
	selectSeq     = "SELECT coalesce(max(seq), 0) FROM events"
	selectVersion = "SELECT coalesce(max(e.version), 0) FROM streams s JOIN events e ON e.stream_id = s.id WHERE s.name = ?"
)

// ahead is the task as it is going to stand. What is about to be appended comes next in the log.
func (done *changed) ahead(tx eventstore.Tx) (task.Task, error) {
	t := done.Task
	var seq, version int64
	err := errors.Join(
		tx.Query(selectSeq, nil, func(row eventstore.Row) error { seq = row.Int(0); return nil }),
		tx.Query(selectVersion, []any{coordination.TaskStream(t.ID)}, func(row eventstore.Row) error { version = row.Int(0); return nil }))
	if err != nil {
		return t, fmt.Errorf("look at the stream of task %s: %w", t.ID, err)
	}
	for i := range done.appended {
		if err := apply(&t, &done.appended[i], seq+int64(i)+1, version+int64(i)+1); err != nil {
			return t, err
		}
	}
	return t, nil
}

// Runs is what Tell needs of a runner.
type Runs interface {
	Ask(tx eventstore.Tx, ask run.Ask, now time.Time) ([]eventstore.StreamAppend, error)
}

// causeApproval is the cause of the runs that Tell asks for.
const causeApproval = "approval"

// Tell is a Then that has the agent whose task was approved, or rejected, told so: by a run in its main session. Where there is no room for
// that run, or the session takes none, the decision stands without it. One that agents take in a loop does not stand: a person has to take it.
func Tell(runs Runs) Then {
	return func(tx eventstore.Tx, c *Changed, now time.Time) ([]eventstore.StreamAppend, error) {
		ask, decided := c.toldOwner()
		if !decided {
			return nil, nil
		}
		appends, err := runs.Ask(tx, ask, now)
		if cut := a2a.CutOf(err); cut != nil {
			return nil, &task.Refusal{Reason: cut.Code, Text: fmt.Sprintf("task %s is not decided by an agent now: %s", c.ID, cut.Text), Mend: cut.Mend}
		}
		if errors.As(err, new(*run.Refusal)) || errors.As(err, new(*run.Busy)) {
			return nil, nil
		}
		return appends, err
	}
}

// toldOwner is the run that tells the owner what was decided; false if nothing was.
func (c *Changed) toldOwner() (ask run.Ask, decided bool) {
	word, message := "", ""
	for _, e := range c.Events {
		switch {
		case e.Type == coordination.TypeTaskApproved:
			word, message = "approved", c.approvedPrompt()
		case e.Type == coordination.TypeTaskCancelled && c.Was == coordination.StatePendingApproval && (c.Human || c.By != c.Agent):
			word, message = "rejected", c.rejectedPrompt()
		}
	}
	if word == "" {
		return run.Ask{}, false
	}
	ask = run.Ask{Session: coordination.MainKey(c.Agent)}
	ask.Context = coordination.Context{TaskID: c.ID, WorkSessionID: c.WorkSessionID, ParentRunID: c.RunID}
	ask.Pass = c.RunID != ""
	ask.RunID, ask.Cause, ask.Message, ask.Provenance = toldRunID(c.ID, word, c.Version), causeApproval, message, "internal_system"
	return ask, true
}

// toldRunID is another one for each decision. An id of a task that is too long for it is cut, with its hash.
func toldRunID(taskID, word string, version int64) string {
	const most = 128 // bytes
	if len(taskID) > most {
		taskID = fmt.Sprintf("sha256:%x", once.Digest("task", taskID))
	}
	return fmt.Sprintf("task:%s:%s:%d", taskID, word, version)
}

// mostText is how many characters of a text a prompt repeats.
const mostText = 2_000

func (c *Changed) approvedPrompt() string {
	text := fmt.Sprintf("[Approved] Your task %s was approved by %s. It is in progress now: begin with it.\n\n%s", c.ID, c.by(), c.facts())
	for i := range c.Steps {
		if s := &c.Steps[i]; s.Status == "in_progress" {
			text += fmt.Sprintf("Step to begin with: (%s) %s\n", s.ID, coordination.Head(s.Content, mostText))
		}
	}
	return text + fmt.Sprintf("\nSay how it goes with task_update (task_id %q, progress). "+
		"When all of it is done, call task_complete (task_id %q, summary).\n", c.ID, c.ID)
}

func (c *Changed) rejectedPrompt() string {
	return fmt.Sprintf("[Rejected] Your task %s was rejected by %s. It is cancelled: do not work at it.\n\n%sReason: %s\n\n"+
		"If what was wanted can be done in a better way, ask for that: task_start (description, requires_approval true). "+
		"Else tell the one who wants it that it is not done, and why.\n", c.ID, c.by(), c.facts(), coordination.Head(c.Outcome.Reason, mostText))
}

// by is who has decided.
func (c *Changed) by() string { return coordination.Head(coordination.Mask(c.By), mostText) }

func (c *Changed) facts() string {
	return fmt.Sprintf("Task: %s\nPriority: %s\nDescription: %s\n", c.ID, c.Priority, coordination.Head(c.Description, mostText))
}
