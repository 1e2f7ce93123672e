package ndjson

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
)

// pollOnce takes a snapshot and reads what is new in it. On errMoving and errChanged the caller retries.
func (f *Follower) pollOnce(ctx context.Context, total *FileReport) error {
	s, err := takeSnapshot(f.opts.StateDir)
	if err != nil {
		return err
	}
	f.odd = f.warn(ctx, s.odd)
	f.logLiveChange(&s)
	if err := f.drain(ctx, &s, total); err != nil {
		s.close()
		return err
	}
	logs, waiting, err := match(&s, f.known)
	if err != nil {
		s.close()
		if errors.Is(err, errChanged) {
			f.startOver(ctx, "a log was truncated, replaced or inserted between others")
		}
		return err
	}
	f.adopt(&s, slices.Concat(logs, waiting))
	for i, t := range logs {
		newer := slices.ContainsFunc(logs[i+1:], func(t *tracked) bool { return t.now.size > 0 })
		if err := f.read(ctx, t, newer, total); err != nil {
			return err
		}
	}
	f.looked(&s, logs)
	return nil
}

// drain reads the rest of a live log that no longer has a log's name and is reachable only through our open file.
func (f *Follower) drain(ctx context.Context, s *snapshot, total *FileReport) error {
	t := f.live
	if t == nil || t.file == nil || slices.ContainsFunc(s.entries, func(e entry) bool { return e.id == t.id() }) {
		return nil
	}
	newer := s.live != nil && s.entries[len(s.entries)-1].size > 0
	err := f.read(ctx, t, newer, total)
	if errors.Is(err, errChanged) && f.live == t {
		t.release() // it was also truncated
		return nil
	}
	return err
}

// adopt makes these the known logs, and the snapshot's open file the one of the live log. A log that is awaited keeps
// its old open file.
func (f *Follower) adopt(s *snapshot, known []*tracked) {
	var live *tracked
	if i := slices.IndexFunc(known, (*tracked).wasLive); i >= 0 {
		live = known[i]
	}
	if live != nil && s.live != nil && live.now == s.entries[len(s.entries)-1] {
		live.use(s.live)
		live.first = s.first
	} else {
		s.close()
	}
	for _, t := range f.known {
		if t != live {
			t.release()
		}
	}
	f.known, f.live = known, live
}

// read stores what is new in a log. newer states that a later log has content.
func (f *Follower) read(ctx context.Context, t *tracked, newer bool, total *FileReport) error {
	file := t.file
	if file == nil {
		if t.behind() == 0 {
			return nil
		}
		opened, err := openEntry(&t.now)
		if err != nil {
			return err
		}
		defer opened.Close()
		file = opened
	} else if err := t.measure(); err != nil {
		return err
	}
	if t.behind() == 0 {
		return nil
	}
	from := max(t.mark.Offset, t.scanned)
	end, err := lastLineEnd(file, from, t.now.size)
	if err != nil {
		return err
	}
	if end > from {
		if err := f.store(ctx, t, file, end, total); err != nil {
			return err
		}
	}
	if t.scanned = t.now.size; newer || f.opts.Finished {
		return f.settle(ctx, t, file, newer, total)
	}
	return nil
}

// measure reads the current size of the open file. For a log of which nothing is stored, only the size at the check
// counts: the log can be recognised only by that.
func (t *tracked) measure() error {
	if t.mark.Offset == 0 {
		return nil
	}
	info, err := t.file.Stat()
	if err != nil {
		return fmt.Errorf("check log: %w", err)
	}
	t.now.size, t.now.modified = info.Size(), info.ModTime().UnixNano()
	if t.now.size < t.scanned {
		t.scanned = 0
	}
	if t.now.size < t.mark.Offset {
		return errChanged
	}
	return nil
}

// store stores the lines between the mark and end, and moves the mark.
func (f *Follower) store(ctx context.Context, t *tracked, file *os.File, end int64, total *FileReport) error {
	report, in, err := f.run(ctx, t, file, end, false, total)
	if err == nil || report.Bytes > 0 {
		err = cmp.Or(err, f.advance(ctx, t, in, report))
	}
	return err
}

// settle handles a last line that will never be completed.
func (f *Follower) settle(ctx context.Context, t *tracked, file *os.File, newer bool, total *FileReport) error {
	rest := t.now.size - t.mark.Offset
	if rest <= 0 || rest == t.mark.Cut {
		return nil
	}
	report, in, err := f.run(ctx, t, file, t.now.size, newer, total)
	switch {
	case err != nil || report.Bytes == 0:
		return err
	case report.RejectedLines() > 0:
		// The mark stays before it, so that the line is read whole if it is completed after all.
		t.mark.Cut, f.unsaved = rest, true
		return nil
	}
	return f.advance(ctx, t, in, report)
}

func (f *Follower) run(ctx context.Context, t *tracked, file *os.File, end int64, closed bool, total *FileReport) (FileReport, *source, error) {
	in, err := newSource(file, &t.mark)
	if err != nil {
		return FileReport{}, nil, err
	}
	if t.mark.Offset == 0 && file == t.file {
		in.first = slices.Clone(t.first)
	}
	in.limit, f.part = end, FileReport{}
	lines := part{in: in, name: t.now.path, before: t.mark.Lines, closed: closed}
	report, err := f.importer.run(ctx, lines, Progress{FileReport: FileReport{Name: t.now.path}, Size: t.now.size, File: 1, Files: 1})
	total.add(report)
	return report, in, err
}

// advance moves the mark past what was stored. If the file no longer matches, everything is read again.
func (f *Follower) advance(ctx context.Context, t *tracked, in *source, report FileReport) error {
	mark := t.mark
	if err := in.markAt(&mark, mark.Offset+report.Bytes); err != nil {
		f.startOver(ctx, "a log was changed while it was read")
		return err
	}
	mark.Lines += report.Lines
	mark.Cut = 0
	t.mark, f.unsaved = mark, true
	return nil
}
