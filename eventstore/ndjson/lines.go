package ndjson

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
)

// lines splits an input at its line feeds. It holds one line, at most MaxLineBytes of it.
type lines struct {
	in   *bufio.Reader
	long []byte // a line that spans several reads
}

func newLines(r io.Reader) *lines { return &lines{in: bufio.NewReaderSize(r, 256<<10)} }

// reset starts a new input.
func (l *lines) reset(r io.Reader) { l.in.Reset(r) }

// rawLine is an unparsed line.
type rawLine struct {
	text  []byte     // without its line feed; valid until the next line is read
	over  *Rejection // instead of text, for a line above MaxLineBytes
	size  int64      // bytes of the input, line feed included
	ended bool       // by a line feed; only the last line may lack one
}

// next returns io.EOF after the last line. On another error the incomplete line is dropped.
func (l *lines) next() (rawLine, error) {
	l.long = l.long[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		text, ended := bytes.CutSuffix(part, []byte{'\n'})
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
			return rawLine{}, err
		}
		if len(l.long)+len(text) > MaxLineBytes {
			return l.skip(text, ended)
		}
		if len(l.long) > 0 || !ended {
			l.long = append(l.long, text...)
			text = l.long
		}
		switch {
		case ended:
			return rawLine{text: text, size: int64(len(text)) + 1, ended: true}, nil
		case errors.Is(err, io.EOF) && len(text) == 0:
			return rawLine{}, io.EOF
		case errors.Is(err, io.EOF):
			return rawLine{text: text, size: int64(len(text))}, nil
		}
	}
}

// skip reads the rest of a line that is too long, whose beginning is in l.long and text, and keeps only what a
// Rejection needs.
func (l *lines) skip(text []byte, ended bool) (rawLine, error) {
	digest := sha256.New()
	digest.Write(l.long)
	digest.Write(text)
	raw := rawLine{
		over:  &Rejection{Reason: TooLong, Text: rejectedText(l.long), Bytes: int64(len(l.long) + len(text))},
		ended: ended,
	}
	for !raw.ended {
		part, err := l.in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
			return rawLine{}, err
		}
		text, raw.ended = bytes.CutSuffix(part, []byte{'\n'})
		digest.Write(text)
		raw.over.Bytes += int64(len(text))
		if errors.Is(err, io.EOF) {
			break
		}
	}
	digest.Sum(raw.over.SHA256[:0])
	raw.size = raw.over.Bytes
	if raw.ended {
		raw.size++
	}
	return raw, nil
}
