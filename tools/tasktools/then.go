package tasktools

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools/once"
)

// Changed is a task after a change, with the events of the change.
type Changed struct {
	task.Task
	Was    string // previous state; "" for a new task
	Events []task.Event
	By     string // agent or person that made the change
	Human  bool
	RunID  string // run that made it; "" outside of runs
}

// Then returns what is appended together with a change of a task. It reads only tx and is quick. It may be called again for a change
// that was not stored, but not for a stored one, however often the same call is repeated. An error prevents the change.
//
// It is called for all changes by agents, people and the stop guard. It is not called for changes that no one decides: when a delegation
// moves, when the continuation starts or abandons a task, and when a file is imported.
type Then func(tx eventstore.Tx, c *Changed, now time.Time) ([]eventstore.StreamAppend, error)

// follows returns the consequences of a change that is about to be appended to a task in that state.
func (s *Service) follows(tx eventstore.Tx, c *taskChange, done *changeResult, was string, now time.Time) (appends []eventstore.StreamAppend, err error) {
	if len(s.o.Then) == 0 {
		return nil, nil
	}
	after, err := done.ahead(tx)
	if err != nil {
		return nil, err
	}
	for _, then := range s.o.Then {
		more, err := then(tx, &Changed{Task: after, Was: was, Events: slices.Clone(done.Events), By: c.asked.By, Human: c.asked.Human, RunID: c.call.RunID}, now)
		if err != nil {
			return nil, err
		}
		appends = append(appends, more...)
	}
	return appends, nil
}

// ahead returns the task after the events that are about to be appended.
func (done *changeResult) ahead(tx eventstore.Tx) (task.Task, error) {
	t := done.Task
	seq, err := eventstore.HeadSeq(tx)
	if err != nil {
		return t, err
	}
	version, err := eventstore.StreamVersion(tx, coordination.TaskStream(t.ID))
	if err != nil {
		return t, fmt.Errorf("read the stream of task %s: %w", t.ID, err)
	}
	for i := range done.appended {
		if err := apply(&t, &done.appended[i], seq+int64(i)+1, version+int64(i)+1); err != nil {
			return t, err
		}
	}
	return t, nil
}

// Queue queues the runs of NotifyOwners.
type Queue interface {
	Ask(tx eventstore.Tx, ask run.Ask, now time.Time) ([]eventstore.StreamAppend, error)
}

// causeApproval is the cause of the runs of NotifyOwners.
const causeApproval = "approval"

// NotifyOwners is a Then that reports an approval or rejection, and what a person does to a task that is being worked at, to the task's
// owner, by a run in its main session. If that run cannot be queued
// the decision stands without it, except one that agents make in a loop: a person has to make it.
func NotifyOwners(queue Queue) Then {
	return func(tx eventstore.Tx, c *Changed, now time.Time) ([]eventstore.StreamAppend, error) {
		ask, decided := c.toldOwner()
		if !decided {
			return nil, nil
		}
		appends, err := queue.Ask(tx, ask, now)
		if cut := messenger.ChainRefusalOf(err); cut != nil {
			return nil, &task.Refusal{Reason: cut.Reason, Text: fmt.Sprintf("an agent cannot decide task %s now: %s", c.ID, cut.Text), HintText: cut.HintText}
		}
		if errors.As(err, new(*run.Refusal)) || errors.As(err, new(*run.Busy)) {
			return nil, nil
		}
		return appends, err
	}
}

// toldOwner returns the run that reports a decision to the owner; false without a decision.
func (c *Changed) toldOwner() (ask run.Ask, decided bool) {
	word, message := "", ""
	for _, e := range c.Events {
		switch {
		case e.Type == coordination.TypeTaskApproved:
			word, message = "approved", c.approvedPrompt()
		case e.Type == coordination.TypeTaskCancelled && c.Was == coordination.StatePendingApproval && (c.Human || c.By != c.Agent):
			word, message = "rejected", c.rejectedPrompt()
		case e.Type == coordination.TypeTaskCancelled && c.Human && c.started():
			word, message = "cancelled", c.cancelledPrompt()
		case e.Type == coordination.TypeTaskResumed && c.Human:
			word, message = "resumed", c.resumedPrompt(e)
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

// toldRunID returns the run's id, one per decision. A task id that is too long is cut and hashed.
func toldRunID(taskID, word string, version int64) string {
	const most = 128 // bytes
	if len(taskID) > most {
		taskID = fmt.Sprintf("sha256:%x", once.Digest("task", taskID))
	}
	return fmt.Sprintf("task:%s:%s:%d", taskID, word, version)
}

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

// started reports whether the owner had started the task.
func (c *Changed) started() bool {
	switch c.Was {
	case coordination.StateInProgress, coordination.StateBlocked, coordination.StateInterrupted:
		return true
	}
	return false
}

func (c *Changed) cancelledPrompt() string {
	text := fmt.Sprintf("[Cancelled] Your task %s was cancelled by %s. Stop working at it.\n\n%s", c.ID, c.by(), c.facts())
	if c.Outcome.Reason != "" {
		text += fmt.Sprintf("Reason: %s\n", coordination.Head(c.Outcome.Reason, mostText))
	}
	return text + "\nTell those who wait for it, unless they know.\n"
}

func (c *Changed) resumedPrompt(e task.Event) string {
	text := fmt.Sprintf("[Resumed] Your task %s was resumed by %s. It is in progress again: go on with it.\n\n%s", c.ID, c.by(), c.facts())
	if d, is := e.Data.(coordination.TaskState); is && d.Reason != "" {
		text += fmt.Sprintf("What has changed: %s\n", coordination.Head(d.Reason, mostText))
	}
	return text + fmt.Sprintf("\nIf you still cannot go on, call task_block again (task_id %q) and say what is missing.\n", c.ID)
}

func (c *Changed) by() string { return coordination.Head(coordination.Mask(c.By), mostText) }

func (c *Changed) facts() string {
	return fmt.Sprintf("Task: %s\nPriority: %s\nDescription: %s\n", c.ID, c.Priority, coordination.Head(c.Description, mostText))
}
