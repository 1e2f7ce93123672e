package shared

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Redact passes each record that holds some of the events to replace, without their payloads; changed is false if it
// had none, as after a repetition. Events that the log does not hold are left out. It is how a Log implements Redact.
func Redact(ctx context.Context, l Log, seqs []int64, replace func(ctx context.Context, without Record, changed bool) error) error {
	head, err := l.Head(ctx)
	if err != nil {
		return err
	}
	of := map[int64][]int64{}
	for _, seq := range seqs {
		number, err := l.Find(ctx, seq)
		if errors.Is(err, eventstore.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if number >= head.Number {
			return &eventstore.InvalidError{Field: "seq", Value: strconv.FormatInt(seq, 10), HintText: "append a record that names the event first"}
		}
		of[number] = append(of[number], seq)
	}
	for number, seqs := range of {
		if err := redact(ctx, l, number, seqs, replace); err != nil {
			return fmt.Errorf("redact record %d of the shared log: %w", number, err)
		}
	}
	return nil
}

func redact(ctx context.Context, l Log, number int64, seqs []int64, replace func(ctx context.Context, without Record, changed bool) error) error {
	found, err := l.Read(ctx, number-1, 1)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return &UnsoundError{Number: number, Detail: "it is missing"}
	}
	without, changed, err := found[0].Without(seqs)
	if err != nil {
		return err
	}
	return replace(ctx, without, changed)
}
