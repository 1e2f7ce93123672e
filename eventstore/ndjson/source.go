package ndjson

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/pronto-lab/openclawd/eventstore"
)

// errChanged says that a log is no longer the file that was read: it was truncated or rewritten.
var errChanged = errors.New("the log was changed where it was already read")

// source reads an open log file from an offset to a limit, and guarantees that everything comes from one file: after
// each read, the file must still begin with what was read before. A truncation happens either before a read, and is
// then detected right after it, or after.
type source struct {
	file  *os.File
	first []byte // the first bytes of the file, at most markBytes
	last  []byte // the bytes before at, at most markBytes
	at    int64
	limit int64
}

// newSource starts where the mark ends. The error is errChanged if the file is not the one that the mark was made
// from.
func newSource(file *os.File, m *Mark) (*source, error) {
	s := &source{file: file, at: m.Offset}
	var err error
	if s.first, err = readAt(file, 0, min(m.Offset, markBytes)); err != nil {
		return nil, err
	}
	if s.last, err = readAt(file, max(m.Offset-markBytes, 0), min(m.Offset, markBytes)); err != nil {
		return nil, err
	}
	if m.Offset > 0 && (hashOf(s.first) != m.First || hashOf(s.last) != m.Last) {
		return nil, errChanged
	}
	return s, nil
}

// holds reports whether the file begins with what the mark was made from.
func holds(file *os.File, m *Mark) (bool, error) {
	_, err := newSource(file, m)
	if errors.Is(err, errChanged) {
		return false, nil
	}
	return err == nil, err
}

func (s *source) Read(b []byte) (int, error) {
	if s.at >= s.limit {
		return 0, io.EOF
	}
	n, err := s.file.ReadAt(b[:min(int64(len(b)), s.limit-s.at)], s.at)
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return 0, errChanged
	case err != nil && !errors.Is(err, io.EOF):
		return 0, fmt.Errorf("read log: %w", err)
	}
	if err := s.check(); err != nil {
		return 0, err
	}
	if known := int64(len(s.first)); known < markBytes && known < s.at+int64(n) {
		s.first = append(s.first, b[known-s.at:min(markBytes-s.at, int64(n))]...)
	}
	s.last = append(s.last, b[max(n-markBytes, 0):n]...)
	if extra := len(s.last) - markBytes; extra > 0 {
		s.last = append(s.last[:0], s.last[extra:]...)
	}
	s.at += int64(n)
	return n, nil
}

// check returns errChanged unless the file still has what was read of it.
func (s *source) check() error {
	first, err := readAt(s.file, 0, int64(len(s.first)))
	if err != nil {
		return err
	}
	last, err := readAt(s.file, s.at-int64(len(s.last)), int64(len(s.last)))
	if err != nil {
		return err
	}
	if !bytes.Equal(first, s.first) || !bytes.Equal(last, s.last) {
		return errChanged
	}
	return nil
}

// markAt moves the mark to offset, at or before what was read. Between the two, the file is read again, and must be
// unchanged.
func (s *source) markAt(m *Mark, offset int64) error {
	last := s.last
	if offset < s.at {
		var err error
		if last, err = readAt(s.file, max(offset-markBytes, 0), min(offset, markBytes)); err != nil {
			return err
		}
		if err := s.check(); err != nil {
			return err
		}
	}
	m.Offset = offset
	m.First = hashOf(s.first[:min(int64(len(s.first)), offset)])
	m.Last = hashOf(last[max(int64(len(last))-min(offset, markBytes), 0):])
	return nil
}

// lastLineEnd is the offset after the last line feed in [from, to), or from if there is none.
func lastLineEnd(file *os.File, from, to int64) (int64, error) {
	const step = 64 << 10
	for to > from {
		begin := max(from, to-step)
		text, err := readAt(file, begin, to-begin)
		if err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(text, '\n'); i >= 0 {
			return begin + int64(i) + 1, nil
		}
		to = begin
	}
	return from, nil
}

// readAt reads n bytes. A shorter file was truncated: errChanged.
func readAt(file *os.File, offset, n int64) ([]byte, error) {
	b := make([]byte, n)
	if _, err := file.ReadAt(b, offset); err != nil && n > 0 {
		if errors.Is(err, io.EOF) {
			return nil, errChanged
		}
		return nil, fmt.Errorf("read log: %w", err)
	}
	return b, nil
}

func hashOf(b []byte) eventstore.Hash { return sha256.Sum256(b) }
