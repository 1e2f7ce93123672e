package ndjson

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// marked is the marks of positions whose files are as they say, before lines are overwritten in place.
type marked struct {
	path      string
	positions Positions
	held      []int // of positions.Files
}

// heldPositions reads a file of positions, if there is one.
func heldPositions(path string) (*marked, error) {
	m := &marked{path: path}
	if path == "" {
		return m, nil
	}
	positions, err := ReadPositions(path)
	if err != nil {
		return m, nil // a follower does not use it either
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

// save makes the marks fit to what the files have now.
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

// holds reports whether the file that has the mark's name is the one that it was made of.
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

// renew takes what stands at both ends of what was read. The file must be the one that the mark was made of.
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

// Blank is Blank of the package for the logs that this follower reads, between two looks; StateDir, Log and Positions of o are its own. Following
// goes on where it was.
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
			continue // then it is read again from the beginning, which adds nothing
		}
		if len(t.first) > 0 {
			t.first = nil // as if it had not been looked at yet
		}
	}
	return report, err
}
