package ndjson

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// marked holds the marks of positions whose files match them, before lines are overwritten in place.
type marked struct {
	path      string
	positions Positions
	held      []int // of positions.Files
}

// heldPositions reads a positions file, if there is one.
func heldPositions(path string) (*marked, error) {
	m := &marked{path: path}
	if path == "" {
		return m, nil
	}
	positions, err := ReadPositions(path)
	if err != nil {
		return m, nil // a follower ignores it too
	}
	m.positions = positions
	for i := range positions.Files {
		ok, err := positions.Files[i].holds()
		if err != nil {
			return m, err
		}
		if ok {
			m.held = append(m.held, i)
		}
	}
	return m, nil
}

// save updates the marks to match the current content of the files.
func (m *marked) save() error {
	if len(m.held) == 0 {
		return nil
	}
	for _, i := range m.held {
		if err := m.positions.Files[i].renew(); err != nil {
			return err
		}
	}
	return m.positions.save(m.path)
}

// holds reports whether the file of the mark's name is the one that the mark was made from.
func (m *Mark) holds() (ok bool, err error) {
	err = m.open(func(file *os.File) (err error) {
		ok, err = holds(file, m)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return ok, err
}

// renew updates both ends of what was read. The file must be the one that the mark was made from.
func (m *Mark) renew() error {
	return m.open(func(file *os.File) error { return m.renewFrom(file) })
}

func (m *Mark) renewFrom(file *os.File) error {
	n := min(m.Offset, markBytes)
	first, err := readAt(file, 0, n)
	if err != nil {
		return err
	}
	last, err := readAt(file, m.Offset-n, n)
	if err != nil {
		return err
	}
	if m.Offset > 0 {
		m.First, m.Last = hashOf(first), hashOf(last)
	}
	return nil
}

func (m *Mark) open(use func(*os.File) error) error {
	file, info, err := openRegular(m.Path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	if id := identify(info); id != (identity{m.Device, m.Inode}) {
		return fs.ErrNotExist
	}
	return use(file)
}

// Blank runs the package's Blank on the logs that this follower reads, between two of its checks; StateDir, Log and
// Positions of o are set by the follower. Following then continues where it was.
func (f *Follower) Blank(ctx context.Context, o BlankOptions) (BlankReport, error) {
	f.reading.Lock()
	defer f.reading.Unlock()
	o.StateDir, o.Log, o.Positions = f.opts.StateDir, f.opts.Import.Log, f.opts.Positions
	var held []*tracked
	for _, t := range f.known {
		ok, err := t.mark.holds()
		if err != nil {
			return BlankReport{}, err
		}
		if ok {
			held = append(held, t)
		}
	}
	report, err := Blank(ctx, o)
	for _, t := range held {
		if t.mark.renew() != nil {
			continue // the log is then read again from the beginning, which adds nothing
		}
		if len(t.first) > 0 {
			t.first = nil // as if it had not been read yet
		}
	}
	return report, err
}
