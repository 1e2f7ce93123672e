package files

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
)

// Forget makes every file what the log says, once texts were redacted there, and says how many it has written: also months, to which otherwise is
// only added. What was imported stays as it was found, as long as the log has it. One file that cannot be written keeps none of
// the others from it.
func (k *Keeper) Forget(ctx context.Context) (n int, err error) {
	all, err := k.everything(ctx, allMonths)
	if err != nil {
		return 0, err
	}
	for _, agent := range k.o.Agents() { // also those of which the tables know nothing any more
		for _, name := range k.listed(agent) {
			if s, ok := subjectOf(agent, name); ok && !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	slices.SortFunc(all, subject.compare)
	since, _ := k.agenda.settledTo()
	var failed []error
	for _, s := range all {
		if ctx.Err() != nil {
			return n, ctx.Err()
		}
		wrote, err := k.forget(ctx, s, since+1)
		n += wrote
		failed = append(failed, err)
	}
	return n, errors.Join(failed...)
}

// forget makes the files of one subject anew. One that has just been changed is waited for.
func (k *Keeper) forget(ctx context.Context, s subject, since int64) (n int, err error) {
	const tries = 5
	for range tries {
		wrote := 0
		if s.month != "" {
			wrote, err = k.forgetMonth(ctx, s.agent, s.month)
		} else {
			wrote, err = k.keep(ctx, s, since, false)
		}
		n += wrote
		soon, ok := errors.AsType[*soonError](err)
		if !ok || !rest(ctx, time.Until(soon.at)) {
			break
		}
	}
	return n, err
}

// dropRedacted removes the file of a task that no event tells of any more, because what did was redacted. It has no other text than that.
func (k *Keeper) dropRedacted(ctx context.Context, id string) (n int, err error) {
	for _, agent := range k.o.Agents() {
		w := wanted{agent: agent, name: taskName(id), taskID: id}
		l, err := k.look(ctx, &w)
		if err != nil {
			return n, err
		}
		if l == nil || !l.there || !l.last.redacted {
			continue
		}
		wrote, err := k.write(ctx, &w, l)
		if n += wrote; err != nil {
			return n, err
		}
	}
	return n, nil
}

// forgetMonth makes a month anew: what was imported, as the log has it, and what has ended since. One that is not as we have left it is left alone.
func (k *Keeper) forgetMonth(ctx context.Context, agent, month string) (int, error) {
	k.writing.Lock()
	defer k.writing.Unlock()
	w := wanted{agent: agent, name: monthName(month), force: true}
	l, err := k.look(ctx, &w)
	if err != nil || l == nil || !l.there || l.last.seq == 0 || l.last.found || l.edited {
		return 0, err
	}
	front, after, known, err := k.imported(ctx, l.path)
	if err != nil || !known {
		return 0, err
	}
	if front == nil {
		front = []byte(taskfile.MonthHeader(month))
	}
	entries, end, err := k.entries(ctx, agent, month, after)
	if err != nil {
		return 0, err
	}
	w.through = max(l.last.through, after, end)
	w.seq, w.content = w.through, append(front, formatted(entries)...)
	if len(entries) == 0 && after == 0 {
		w.content = nil // nothing of it is left
	}
	return k.write(ctx, &w, l)
}

// imported is what a month begins with that was there before the log, and the seq of the event that told of it; nil where nothing was, where it was
// redacted, or where the file was made anew since. It is not known where the log does not hold all of it.
func (k *Keeper) imported(ctx context.Context, file string) (text []byte, seq int64, known bool, err error) {
	const page = 500
	known = true
	for after := int64(0); ; {
		events, err := k.o.Log.ReadStream(ctx, coordination.FileStream(file), after, page)
		if err != nil {
			return nil, 0, false, err
		}
		for i := range events {
			e := &events[i]
			after = e.Version
			switch {
			case e.Type == coordination.TypeFileWritten:
			case e.Redacted(), e.Type == coordination.TypeFileConflict:
				text, seq, known = nil, 0, true
			default:
				var data struct {
					Text   *string
					Offset int64
				}
				if json.Unmarshal(e.Data, &data) != nil || data.Text == nil || !known || int64(len(text)) < data.Offset {
					text, seq, known = nil, 0, false
					continue
				}
				text, seq = append(text[:data.Offset:data.Offset], *data.Text...), e.Seq
			}
		}
		if len(events) < page {
			return text, seq, known, nil
		}
	}
}
