package answers

import (
	"context"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/points"
	"github.com/pronto-lab/openclawd/replay/debugger"
)

// StepOf describes the event at which a machine stands. The machine must not be before the first event.
func StepOf(ctx context.Context, m *debugger.Machine) (*points.Step, error) {
	s, err := m.Show(ctx)
	if err != nil {
		return nil, err
	}
	return &points.Step{Event: points.EventOf(s.Event, s.Role, s.Category), IsError: s.Wrong, Error: s.Trouble,
		Causes: orEmpty(s.Causes), Effects: orEmpty(s.Effects), Changes: orEmpty(s.Changes)}, nil
}

// furthest is how far from the first error of an answer the last one may be: every event in between is stepped through.
const furthest = 200

// Choose lists the events of an answer: up to n from an event on, or with errorsOnly those that report a failure.
func Choose(ctx context.Context, log *sqlite.DB, at int64, n int, errorsOnly bool) (seqs []int64, err error) {
	if !errorsOnly {
		head, err := log.Head(ctx)
		for seq := at; err == nil && seq <= head.Seq && len(seqs) < n; seq++ {
			seqs = append(seqs, seq)
		}
		return seqs, err
	}
	for from := at - 1; len(seqs) < n; {
		seq, err := debugger.FindTrouble(ctx, log, from, debugger.Later)
		if err != nil || seq == 0 || len(seqs) > 0 && seq > seqs[0]+furthest {
			return seqs, err
		}
		seqs = append(seqs, seq)
		from = seq
	}
	return seqs, nil
}

// Walk steps a machine forward to each of the events and describes it. It ends earlier when the steps have
// points.MaxBytes.
func Walk(ctx context.Context, m *debugger.Machine, seqs []int64) (steps []points.BoundedStep, err error) {
	left := points.MaxBytes
	for _, seq := range seqs {
		if err := m.Goto(ctx, seq, nil); err != nil {
			return nil, err
		}
		step, err := StepOf(ctx, m)
		if err != nil {
			return nil, err
		}
		payload := len(step.Event.Data) + len(step.Event.Original)
		bounded, used := step.Bound(left - payload)
		if len(steps) > 0 && (payload > left || len(bounded.Changes) < min(bounded.ChangesTotal, points.MaxChanges)) {
			return steps, nil // the next answer has room for all of it
		}
		left -= payload + used
		steps = append(steps, bounded)
	}
	return steps, nil
}

// Around completes steps from an event on with what lies beside them.
func Around(ctx context.Context, log *sqlite.DB, at int64, errorsOnly bool, steps []points.BoundedStep) (*points.Steps, error) {
	head, err := log.Head(ctx)
	if err != nil {
		return nil, err
	}
	a := &points.Steps{Head: head.Seq, Steps: orEmpty(steps)}
	first, last := at, at-1
	if len(steps) > 0 {
		first, last = steps[0].Event.Seq, steps[len(steps)-1].Event.Seq
	}
	earlier, err := debugger.FindTrouble(ctx, log, first, debugger.Earlier)
	if err != nil {
		return nil, err
	}
	later, err := debugger.FindTrouble(ctx, log, last, debugger.Later)
	if err != nil {
		return nil, err
	}
	a.PreviousError, a.NextError = known(earlier), known(later)
	switch {
	case errorsOnly:
		a.Next = a.NextError
	case last < head.Seq:
		a.Next = known(last + 1)
	}
	return a, nil
}

// known is a seq; nil for none.
func known(seq int64) *int64 {
	if seq == 0 {
		return nil
	}
	return &seq
}

// orEmpty makes an empty list [] in JSON instead of null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
