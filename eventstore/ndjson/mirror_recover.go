package ndjson

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/pronto-lab/openclawd/eventstore"
)

// mirrorMark states that all lines of the log up to that event are in the files.
type mirrorMark struct {
	Seq  int64           `json:"seq"`
	Hash eventstore.Hash `json:"hash"`
}

// recover finds where to continue: after the mark, or after the last line of ours if that is later.
func (m *Mirror) recover(ctx context.Context) error {
	if err := m.live.stat(); err != nil {
		return err
	}
	var err error
	if m.mark, err = m.readMark(ctx); err != nil {
		return err
	}
	m.seq = m.mark
	if head, err := m.opts.Log.Head(ctx); err != nil || head.Seq == m.mark {
		return err // the state after a clean stop
	}
	paths, err := Logs(m.opts.StateDir)
	if err != nil {
		return err
	}
	for _, path := range slices.Backward(paths) {
		last, err := m.lastOwn(ctx, path)
		if err != nil {
			return err
		}
		if last == nil {
			continue
		}
		m.seq = max(m.mark, last.Seq)
		if path == m.live.path() {
			m.live.month = monthOf(last.RecordedAt)
		}
		return nil
	}
	return nil
}

// lastOwn returns the event of the last whole line of a file that names one of ours, or nil.
func (m *Mirror) lastOwn(ctx context.Context, path string) (*eventstore.Event, error) {
	f, info, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := newBackward(f, info.Size())
	if _, err := in.next(); err != nil { // a line without a line feed is not whole
		return nil, eofIsNil(err)
	}
	for ctx.Err() == nil {
		line, err := in.next()
		if err != nil {
			return nil, eofIsNil(err)
		}
		id, ok := mirroredID(line)
		if !ok {
			continue
		}
		e, err := m.opts.Log.EventByID(ctx, id)
		switch {
		case errors.Is(err, eventstore.ErrNotFound):
		case err != nil:
			return nil, err
		case m.ours(&e):
			return &e, nil
		}
	}
	return nil, ctx.Err()
}

func eofIsNil(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// mirroredID parses the id at the end of a line, where a mirror writes it.
func mirroredID(line []byte) (id eventstore.ID, ok bool) {
	const digits = 36
	line, ok = bytes.CutSuffix(line, []byte(`"}`))
	if !ok || len(line) < digits || !bytes.HasSuffix(line[:len(line)-digits], []byte(`,"id":"`)) {
		return id, false
	}
	id, err := eventstore.ParseID(string(line[len(line)-digits:]))
	return id, err == nil
}

// readMark returns up to where the mark says that lines are written: 0 if there is none, or if it belongs to another
// log.
func (m *Mirror) readMark(ctx context.Context) (int64, error) {
	if m.opts.Mark == "" {
		return 0, nil
	}
	text, err := os.ReadFile(m.opts.Mark)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var mark mirrorMark
	if json.Unmarshal(text, &mark) != nil || mark.Seq < 1 {
		return 0, nil
	}
	if held, err := isOf(ctx, m.opts.Log, eventstore.Head(mark)); !held {
		return 0, err
	}
	return mark.Seq, nil
}

// markEvery bounds how many events the mark may lag behind while the mirror runs.
const markEvery = 1000

// remember updates the mark if it lags that many events behind.
func (m *Mirror) remember(behind int64) {
	if m.opts.Mark == "" || m.last.Seq-m.mark < behind {
		return
	}
	text, err := json.Marshal(m.last)
	if err == nil {
		err = replaceNote(m.opts.Mark, text)
	}
	if err != nil {
		m.opts.Logger.Debug("cannot save mirror position; the next start will search the logs for it", "file", m.opts.Mark, "err", err)
		return
	}
	m.mark = m.last.Seq
}

// backward reads the lines of a file from its end. It holds one line, and at most the maximum line length of it.
type backward struct {
	in    io.ReaderAt
	start int64  // offset of what is held
	held  []byte // from there to the line that was returned last
	done  bool
}

func newBackward(in io.ReaderAt, size int64) *backward { return &backward{in: in, start: size} }

// next returns the previous line, without its line feed; it is valid until the next call. The first is the text after
// the last line feed, so it is often empty. Of a line that is too long it returns the first byte. After the first line
// of the file it returns io.EOF.
func (b *backward) next() ([]byte, error) {
	if b.done {
		return nil, io.EOF
	}
	for tooLong, searched := false, 0; ; {
		if i := bytes.LastIndexByte(b.held[:len(b.held)-searched], '\n'); i >= 0 {
			line := b.held[i+1:]
			b.held = b.held[:i]
			if tooLong {
				line = line[:1]
			}
			return line, nil
		}
		if b.start == 0 {
			b.done = true
			if tooLong {
				return b.held[:1], nil
			}
			return b.held, nil
		}
		if len(b.held) > MaxLineBytes {
			tooLong, b.held = true, b.held[:1]
		}
		searched = len(b.held)
		if err := b.load(); err != nil {
			return nil, err
		}
	}
}

// load doubles what is held, towards the beginning of the file.
func (b *backward) load() error {
	const least = 64 << 10
	n := min(int64(max(least, len(b.held))), b.start)
	held := make([]byte, int(n)+len(b.held))
	copy(held[n:], b.held)
	if _, err := b.in.ReadAt(held[:n], b.start-n); err != nil {
		return err
	}
	b.start, b.held = b.start-n, held
	return nil
}
