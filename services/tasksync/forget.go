package tasksync

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// Forget writes every file as the log says after a redaction, and returns the number of writes. It includes months, which are otherwise
// only appended to. Imported texts stay as found as long as the log has them. One failure does not affect the other files.
func (s *Syncer) Forget(ctx context.Context) (n int, err error) {
	all, err := s.everything(ctx, allMonths)
	if err != nil {
		return 0, err
	}
	for _, agent := range s.o.Agents() { // including those that the tables no longer know
		for _, name := range s.fileNames(agent) {
			if subj, ok := subjectOf(agent, name); ok && !slices.Contains(all, subj) {
				all = append(all, subj)
			}
		}
	}
	slices.SortFunc(all, subject.compare)
	since, _ := s.agenda.settledTo()
	var failed []error
	for _, subj := range all {
		if ctx.Err() != nil {
			return n, ctx.Err()
		}
		wrote, err := s.forget(ctx, subj, since+1)
		n += wrote
		failed = append(failed, err)
	}
	return n, errors.Join(failed...)
}

// forget writes the files of one subject again, after a pause if they have just been changed.
func (s *Syncer) forget(ctx context.Context, subj subject, since int64) (n int, err error) {
	const tries = 5
	for range tries {
		wrote := 0
		if subj.month != "" {
			wrote, err = s.forgetMonth(ctx, subj.agent, subj.month)
		} else {
			wrote, err = s.sync(ctx, subj, since, false)
		}
		n += wrote
		soon, ok := errors.AsType[*tooSoonError](err)
		if !ok || wait.For(ctx, time.Until(soon.at)) != nil {
			break
		}
	}
	return n, err
}

// dropRedacted removes the file of a task whose text is completely redacted. It has no other text. The file may have been written once
// more after the redaction, from the table of before.
func (s *Syncer) dropRedacted(ctx context.Context, id string) (n int, err error) {
	for _, agent := range s.o.Agents() {
		w := wantedFile{agent: agent, name: taskName(id), taskID: id}
		l, err := s.inspect(ctx, &w)
		if err != nil {
			return n, err
		}
		if l == nil || !l.there {
			continue
		}
		switch redacted, err := s.wasRedacted(ctx, l); {
		case err != nil:
			return n, err
		case !redacted:
			continue
		}
		wrote, err := s.write(ctx, &w, l)
		if n += wrote; err != nil {
			return n, err
		}
	}
	return n, nil
}

// wasRedacted reports whether the text of a file's last event is redacted, or that of an earlier one, after which the file was written.
func (s *Syncer) wasRedacted(ctx context.Context, l *fileState) (bool, error) {
	if l.last.redacted || l.last.found || l.last.seq == 0 || l.edited {
		return l.last.redacted, nil
	}
	const page = 500
	for after := int64(0); ; {
		events, err := s.o.Log.ReadStream(ctx, coordination.FileStream(l.path), after, page)
		if err != nil || slices.ContainsFunc(events, func(e eventstore.Event) bool { return e.Redacted() }) {
			return err == nil, err
		}
		if len(events) < page {
			return false, nil
		}
		after = events[len(events)-1].Version
	}
}

// forgetMonth writes a month again: the imported part as the log has it, and the tasks that have ended since. An edited month is left
// alone.
func (s *Syncer) forgetMonth(ctx context.Context, agent, month string) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	w := wantedFile{agent: agent, name: monthName(month), force: true}
	l, err := s.inspect(ctx, &w)
	if err != nil || l == nil || !l.there || l.last.seq == 0 || l.last.found || l.edited {
		return 0, err
	}
	front, after, known, err := s.imported(ctx, l.path)
	if err != nil || !known {
		return 0, err
	}
	if front == nil {
		front = []byte(taskfile.MonthHeader(month))
	}
	entries, end, err := s.entries(ctx, agent, month, after)
	if err != nil {
		return 0, err
	}
	w.through = max(l.last.through, after, end)
	w.seq, w.content = w.through, append(front, formatted(entries)...)
	if len(entries) == 0 && after == 0 {
		w.content = nil // nothing of it is left
	}
	return s.write(ctx, &w, l)
}

// imported returns the imported beginning of a month and the seq of its event; nil if nothing was imported, if it was redacted, or if
// the file was written completely since. It is unknown if the log does not hold all of it.
func (s *Syncer) imported(ctx context.Context, file string) (text []byte, seq int64, known bool, err error) {
	const page = 500
	known = true
	for after := int64(0); ; {
		events, err := s.o.Log.ReadStream(ctx, coordination.FileStream(file), after, page)
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
