package tasktools

import (
	"context"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

// Cancel cancels any open task for a person. Errors of this and of the methods below are *task.Refusal, or the log's.
func (s *Service) Cancel(ctx context.Context, taskID, person, reason string) (*task.Operated, error) {
	return s.operate(ctx, taskID, person, func(c *taskChange, _ eventstore.Tx, t *task.Task) ([]task.Event, error) {
		return task.Stop(t, c.asked, reason)
	})
}

// Unblock resumes a blocked or interrupted task for a person. Its owner is told the note.
func (s *Service) Unblock(ctx context.Context, taskID, person, note string) (*task.Operated, error) {
	return s.operate(ctx, taskID, person, func(c *taskChange, tx eventstore.Tx, t *task.Task) ([]task.Event, error) {
		renewed, err := s.Renewed(tx, t, c.asked.Now)
		if err != nil {
			return nil, err
		}
		return task.Unblock(t, c.asked, renewed, note)
	})
}

// Prioritise changes the priority of an open task for a person.
func (s *Service) Prioritise(ctx context.Context, taskID, person, priority string) (*task.Operated, error) {
	return s.operate(ctx, taskID, person, func(c *taskChange, _ eventstore.Tx, t *task.Task) ([]task.Event, error) {
		return task.Prioritise(t, c.asked, priority)
	})
}

// Reassign ends a task, and adds it to the backlog of another agent, for a person. known are the agents that have tasks.
func (s *Service) Reassign(ctx context.Context, taskID, person, to string, known []string) (*task.Operated, error) {
	newID := s.o.NewTaskID()
	done, err := s.operate(ctx, taskID, person, func(c *taskChange, tx eventstore.Tx, t *task.Task) ([]task.Event, error) {
		ask := task.ReassignAsk{Asked: c.asked, To: to, Known: known, NewID: newID}
		var err error
		if ask.Waiting, err = tasks.WaitingFor(tx, t.ID); err != nil {
			return nil, err
		}
		if ask.OpenOfTo, err = tasks.OpenOf(tx, strings.ToLower(coordination.TrimJS(to))); err != nil {
			return nil, err
		}
		ended, created, err := task.Reassign(t, ask)
		if err != nil || len(created) == 0 {
			return nil, err
		}
		c.also, err = firstOf(newID, created, c.asked.Now)
		return ended, err
	})
	if err == nil && done.Changed {
		done.Successor = newID
	}
	return done, err
}

// firstOf returns the events of a new task that a person has made.
func firstOf(id string, events []task.Event, now int64) ([]eventstore.StreamAppend, error) {
	of := eventstore.StreamAppend{Stream: coordination.TaskStream(id), Expect: eventstore.NoStream()}
	for _, e := range events {
		if err := of.Add(eventstore.NewEvent{Type: e.Type, AgentID: e.AgentID, Actor: eventstore.ActorHuman}, e.Data, now); err != nil {
			return nil, err
		}
	}
	return []eventstore.StreamAppend{of}, nil
}

func (s *Service) operate(ctx context.Context, taskID, person string,
	decide func(*taskChange, eventstore.Tx, *task.Task) ([]task.Event, error)) (*task.Operated, error) {
	id, err := (&target{TaskID: taskID}).named()
	if err != nil {
		return nil, err
	}
	c := s.person(person)
	c.find = c.findTask(id, nil, anyAgent)
	c.decide = func(tx eventstore.Tx, t *task.Task) ([]task.Event, error) { return decide(c, tx, t) }
	done, err := s.change(ctx, c)
	if err != nil {
		return nil, err
	}
	return &task.Operated{Task: done.Task, Changed: len(done.Events) > 0}, nil
}
