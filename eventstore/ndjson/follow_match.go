package ndjson

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
)

// matching finds, for each log of a snapshot, what was read of it before.
type matching struct {
	snapshot *snapshot
	found    []*tracked // the known log of each entry; nil if it is new
	rest     []*tracked // known logs without an entry
}

// match returns the logs to read, oldest first: the known ones under their current names, and new ones; and the known
// ones that are awaited. It returns errChanged unless they are the known logs with additions, followed by newer logs.
// Nothing is read yet.
func match(s *snapshot, known []*tracked) (logs, waiting []*tracked, err error) {
	m := &matching{s, make([]*tracked, len(s.entries)), slices.Clone(known)}
	if err := m.byIdentity(); err != nil {
		return nil, nil, err
	}
	if err := m.byContent(); err != nil {
		return nil, nil, err
	}
	if waiting, err = m.gone(); err != nil {
		return nil, nil, err
	}
	logs, err = m.inOrder()
	return logs, waiting, err
}

// byIdentity recognises files under any name, provided that they begin with what was read of them.
func (m *matching) byIdentity() error {
	for i, e := range m.snapshot.entries {
		at := slices.IndexFunc(m.rest, func(t *tracked) bool { return t.id() == e.id && e.id != identity{} })
		if at < 0 {
			continue
		}
		if err := m.pair(i, at); err != nil {
			return err
		}
	}
	return nil
}

// byContent recognises copied files: an archive under its own name, and the former live log under any name, that is, a
// log that was copied and truncated, or replaced by one that continues it.
func (m *matching) byContent() error {
	for at := 0; at < len(m.rest); at++ {
		t := m.rest[at]
		if t.mark.Offset == 0 {
			continue
		}
		for i, e := range m.snapshot.entries {
			if m.found[i] != nil || !t.wasLive() && filepath.Base(e.path) != filepath.Base(t.mark.Path) {
				continue
			}
			if err := m.pair(i, at); err != nil {
				return err
			}
			if m.found[i] != nil {
				at--
				break
			}
		}
	}
	return nil
}

// pair assigns the entry to the known log if they begin alike.
func (m *matching) pair(i, at int) error {
	e, t := m.snapshot.entries[i], m.rest[at]
	if e.size < t.mark.Offset {
		return nil
	}
	same := t.now == e && !m.isLive(i) // a closed archive that was not touched since it was compared
	if !same {
		err := m.with(i, func(file *os.File) (err error) {
			same, err = holds(file, &t.mark)
			return err
		})
		if err != nil {
			return err
		}
	}
	if same {
		m.found[i], m.rest = t, slices.Delete(m.rest, at, at+1)
	}
	return nil
}

// gone decides about known logs that are missing. An archive may disappear. The former live log is awaited as long as
// no other log has content: that one would contain other lines, or the same ones rewritten.
func (m *matching) gone() (waiting []*tracked, err error) {
	for _, t := range m.rest {
		if !t.wasLive() || t.mark.Offset == 0 {
			continue
		}
		last := len(m.snapshot.entries) - 1
		if m.snapshot.live == nil || m.snapshot.entries[last].size == 0 {
			waiting = append(waiting, t)
		} else if m.found[last] == nil {
			return nil, errChanged
		}
	}
	return waiting, nil
}

// inOrder lists known and new logs. New ones come after all logs that were read, unless they are copies of known ones.
func (m *matching) inOrder() (logs []*tracked, err error) {
	last := -1
	for i, t := range m.found {
		if t != nil && t.touched() {
			last = i
		}
	}
	for i, e := range m.snapshot.entries {
		t := m.found[i]
		if t == nil {
			if e.size == 0 {
				continue
			}
			isCopy, err := m.isCopy(i, last)
			switch {
			case err != nil:
				return nil, err
			case isCopy:
				continue
			case i < last:
				return nil, errChanged
			}
			t = &tracked{}
		}
		t.found(e)
		logs = append(logs, t)
	}
	return logs, nil
}

// isCopy reports whether a new archive is a copy, possibly still in progress, of a log that comes later: that log is
// about to be truncated, or the copy was kept deliberately. For a log older than the archive this is certain if one is
// a prefix of the other. For a new log it is assumed if the common prefix is too long for chance or the log was
// written later.
func (m *matching) isCopy(i, last int) (is bool, err error) {
	if m.isLive(i) {
		return false, nil
	}
	entries := m.snapshot.entries
	for j := len(entries) - 1; j > i && !is; j-- {
		certain := j <= last && m.found[j] != nil || entries[i].size >= markBytes || entries[i].modified > entries[j].modified
		if entries[j].size < entries[i].size || !certain || m.found[j] == nil && !m.isLive(j) {
			continue
		}
		err := m.with(i, func(a *os.File) error {
			return m.with(j, func(b *os.File) error {
				is, err = beginsAs(a, b, entries[i].size)
				return err
			})
		})
		if err != nil {
			return false, err
		}
	}
	return is, nil
}

// beginsAs reports whether both ends of the first n bytes are equal in both files.
func beginsAs(a, b *os.File, n int64) (bool, error) {
	window := min(n, markBytes)
	for _, offset := range []int64{0, n - window} {
		inA, err := readAt(a, offset, window)
		if err != nil {
			return false, err
		}
		inB, err := readAt(b, offset, window)
		if err != nil {
			return false, err
		}
		if !bytes.Equal(inA, inB) {
			return false, nil
		}
	}
	return true, nil
}

func (m *matching) isLive(i int) bool {
	return m.snapshot.live != nil && i == len(m.snapshot.entries)-1
}

// with opens the entry's file for do.
func (m *matching) with(i int, do func(*os.File) error) error {
	if m.isLive(i) {
		return do(m.snapshot.live)
	}
	file, err := openEntry(&m.snapshot.entries[i])
	if err != nil {
		return err
	}
	defer file.Close()
	return do(file)
}
