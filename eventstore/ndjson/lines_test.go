package ndjson

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("가", 200<<10) // more than the reader's buffer
	for name, tc := range map[string]struct {
		in   string
		want []string // with their line feeds
	}{
		"empty":      {"", nil},
		"one":        {"a\n", []string{"a\n"}},
		"no end":     {"a\nb", []string{"a\n", "b"}},
		"blank":      {"\n\n", []string{"\n", "\n"}},
		"CRLF":       {"a\r\nb\r", []string{"a\r\n", "b\r"}},
		"long":       {long + "\n" + "b\n" + long, []string{long + "\n", "b\n", long}},
		"U+2028":     {"a\u2028b\n", []string{"a\u2028b\n"}},
		"buffer end": {strings.Repeat("x", 256<<10) + "\ny\n", []string{strings.Repeat("x", 256<<10) + "\n", "y\n"}},
	} {
		for how, r := range map[string]io.Reader{
			"whole":        strings.NewReader(tc.in),
			"half":         iotest.HalfReader(strings.NewReader(tc.in)),
			"data and EOF": iotest.DataErrReader(strings.NewReader(tc.in)),
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				var got []string
				for in := newLines(r); ; {
					raw, err := in.next()
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					line := string(raw.text)
					if raw.ended {
						line += "\n"
					}
					if raw.size != int64(len(line)) {
						t.Errorf("size %d of a line of %d bytes", raw.size, len(line))
					}
					got = append(got, line)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("lines (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// A line far above the limit is skipped without being held in memory.
func TestLinesSkipsWhatIsTooLong(t *testing.T) {
	t.Parallel()
	const size = 64 << 20
	in := newLines(io.MultiReader(
		strings.NewReader("before\n"), filler(size), strings.NewReader("\nafter\n"), filler(MaxLineBytes+1)))

	if raw, err := in.next(); err != nil || string(raw.text) != "before" {
		t.Fatalf("first line: %q, %v", raw.text, err)
	}
	for _, want := range []struct {
		size  int64
		ended bool
		next  string
	}{{size, true, "after"}, {MaxLineBytes + 1, false, ""}} {
		raw, err := in.next()
		if err != nil || raw.over == nil {
			t.Fatalf("long line: %v, %v", raw.over, err)
		}
		digest := sha256.New()
		if _, err := io.Copy(digest, filler(want.size)); err != nil {
			t.Fatal(err)
		}
		rejection := Rejection{Reason: TooLong, Text: strings.Repeat("x", rejectedTextBytes), Bytes: want.size}
		digest.Sum(rejection.SHA256[:0])
		if diff := cmp.Diff(rejection, *raw.over); diff != "" {
			t.Errorf("rejection (-want +got):\n%s", diff)
		}
		if raw.ended != want.ended || raw.size-want.size > 1 {
			t.Errorf("ended %t, size %d", raw.ended, raw.size)
		}
		if want.next != "" {
			if raw, err := in.next(); err != nil || string(raw.text) != want.next {
				t.Fatalf("next line: %q, %v", raw.text, err)
			}
		}
	}
	if cap(in.long) > 2*MaxLineBytes {
		t.Errorf("%d bytes are held", cap(in.long))
	}
}

func TestLinesLongestIsTaken(t *testing.T) {
	t.Parallel()
	in := newLines(io.MultiReader(filler(MaxLineBytes), strings.NewReader("\n")))
	if raw, err := in.next(); err != nil || raw.over != nil || len(raw.text) != MaxLineBytes {
		t.Errorf("%d bytes, %v, %v", len(raw.text), raw.over, err)
	}
}

func TestLinesReadError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, begin := range map[string]io.Reader{
		"within a line":      strings.NewReader("whole\nbegun"),
		"within a long line": io.MultiReader(strings.NewReader("whole\n"), filler(MaxLineBytes+4096)),
	} {
		in := newLines(io.MultiReader(begin, iotest.ErrReader(broken)))
		if raw, err := in.next(); err != nil || string(raw.text) != "whole" {
			t.Errorf("%s: first line: %q, %v", name, raw.text, err)
		}
		if _, err := in.next(); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// filler reads as size times x.
func filler(size int64) io.Reader { return io.LimitReader(xs{}, size) }

type xs struct{}

func (xs) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte{'x'}, len(p))), nil }
