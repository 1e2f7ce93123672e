package openclaw

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLine bounds a line of a transcript, in bytes: an event may have no more.
const MaxLine = 15 << 20

// Line is an entry of a transcript.
type Line struct {
	Number int64  // from 1
	Text   []byte // from { on; valid until the next line
	Size   int64  // of the source
}

// ErrNotJSON is what a visit of a line returns if its text is not JSON. The line is then reported, and the visit goes on.
var ErrNotJSON = errors.New("the line is not a JSON object")

// lineReader splits an input at its line feeds. It holds one line, at most MaxLine bytes of it.
type lineReader struct {
	in   *bufio.Reader
	long []byte
	n    int64
}

func newLineReader(r io.Reader) *lineReader { return &lineReader{in: bufio.NewReaderSize(r, 256<<10)} }

// next returns the next line that is not blank, io.EOF after the last one. ended is false for a last line without a line feed. A line that
// is too long has no text.
func (l *lineReader) next() (line Line, ended bool, err error) {
	for {
		l.long = l.long[:0]
		line = Line{}
		var part []byte
		for {
			part, err = l.in.ReadSlice('\n')
			line.Size += int64(len(part))
			if !errors.Is(err, bufio.ErrBufferFull) {
				break
			}
			if line.Size <= MaxLine {
				l.long = append(l.long, part...)
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return line, false, err
		}
		ended = err == nil
		if line.Size == 0 {
			return line, false, io.EOF
		}
		l.n++
		line.Number = l.n
		if line.Size > MaxLine {
			return line, ended, nil
		}
		if len(l.long) > 0 {
			l.long = append(l.long, part...)
			part = l.long
		}
		if line.Text = bytes.TrimSpace(part); len(line.Text) > 0 {
			return line, ended, nil
		}
	}
}

// eachLine visits the lines of a file that begin as JSON objects. Others, and those that visit finds to be none, are reported with their
// number: a gateway that was killed leaves an incomplete one. name is the file's. Another error of visit ends the visit and is returned.
func (s *Source) eachLine(name string, visit func(Line) error) error {
	f := s.Open(name)
	if f == nil {
		return nil
	}
	defer f.Close()
	return s.eachOf(name, f, visit)
}

// eachOf is eachLine for an open file.
func (s *Source) eachOf(name string, r io.Reader, visit func(Line) error) error {
	in := newLineReader(r)
	for {
		line, ended, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			s.unreadable(name, err)
			return nil
		}
		if line.Text == nil {
			s.problem(lineOf(name, line), ReasonTooLong, fmt.Sprintf("the line has %d bytes; at most %d can be stored", line.Size, MaxLine), "")
			continue
		}
		if err = ErrNotJSON; line.Text[0] == '{' {
			err = visit(line)
		}
		switch {
		case err == nil:
		case !errors.Is(err, ErrNotJSON):
			return err
		case ended:
			s.problem(lineOf(name, line), ReasonInvalid, err.Error(), "")
		default:
			s.problem(lineOf(name, line), ReasonTorn, "the last line is incomplete: it is still being written, or its writer was killed", "migrate again once OpenClaw has stopped")
		}
	}
}

// lineOf is the place of a line.
func lineOf(name string, line Line) string { return fmt.Sprintf("%s:%d", name, line.Number) }
