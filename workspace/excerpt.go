package workspace

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Excerpt is the text of a file, or its start and its end.
type Excerpt struct {
	Name     string
	Head     string // the start, or all
	Tail     string // the end; "" if Head is all
	Bytes    int64  // of the whole file
	Repaired bool   // invalid UTF-8 was replaced by U+FFFD
	Err      error  // *RefusedError, fs.ErrNotExist or a system error; there is no text then
}

// Excerpts reads files in the directory itself, measured in characters: a file of at most whole completely, of a
// longer one the first head and the last tail. It reads no more than that, however large a file is, and refuses
// files that are not text.
func (d *Dir) Excerpts(names []string, whole, head, tail int) []Excerpt {
	all := make([]Excerpt, len(names))
	f, err := d.open()
	if err == nil {
		defer f.close()
	}
	for i, name := range names {
		all[i] = Excerpt{Name: name, Err: err}
		if err == nil {
			all[i].Err = f.excerpt(&all[i], whole, head, tail)
		}
	}
	return all
}

func (f *folder) excerpt(e *Excerpt, whole, head, tail int) error {
	seen, err := f.stat(e.Name)
	if err != nil {
		return err
	}
	if !seen.Mode().IsRegular() {
		return f.refuse(e.Name, ReasonSpecial)
	}
	file, err := f.root.OpenFile(e.Name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // do not block on a pipe put there meanwhile
	if err != nil {
		return f.unopened(e.Name, err)
	}
	defer file.Close()
	opened, err := file.Stat()
	if err != nil {
		return fmt.Errorf("look at %s: %w", f.at(e.Name), cause(err))
	}
	if !os.SameFile(seen, opened) {
		return f.refuse(e.Name, ReasonMoved)
	}
	e.Bytes = opened.Size()
	if err := e.read(file, whole, head, tail); err != nil {
		return fmt.Errorf("read %s: %w", f.at(e.Name), cause(err))
	}
	if strings.ContainsRune(e.Head, 0) || strings.ContainsRune(e.Tail, 0) {
		e.Head, e.Tail = "", ""
		return f.refuse(e.Name, ReasonText)
	}
	return nil
}

// read reads enough bytes to contain the characters.
func (e *Excerpt) read(file io.ReaderAt, whole, head, tail int) error {
	if e.Bytes <= int64(whole)*utf8.UTFMax {
		text, err := part(file, 0, e.Bytes)
		if err != nil {
			return err
		}
		e.Head = e.text(text)
		if runes := utf8.RuneCountInString(e.Head); runes > whole {
			e.Head, e.Tail = e.Head[:offsetOf(e.Head, head)], e.Head[offsetOf(e.Head, runes-tail):]
		}
		return nil
	}
	first, err := part(file, 0, int64(head)*utf8.UTFMax+utf8.UTFMax)
	if err != nil {
		return err
	}
	from := e.Bytes - int64(tail)*utf8.UTFMax - utf8.UTFMax
	last, err := part(file, from, e.Bytes-from)
	if err != nil {
		return err
	}
	e.Head = e.text(withoutHalf(first))
	e.Head = e.Head[:offsetOf(e.Head, head)]
	for range utf8.UTFMax - 1 { // it may start within a character
		if len(last) > 0 && !utf8.RuneStart(last[0]) {
			last = last[1:]
		}
	}
	e.Tail = e.text(last)
	e.Tail = e.Tail[offsetOf(e.Tail, utf8.RuneCountInString(e.Tail)-tail):]
	return nil
}

// part reads up to n bytes; fewer if the file was truncated meanwhile.
func part(file io.ReaderAt, from, n int64) ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(file, from, n))
}

// withoutHalf removes the start of a character that is cut off at the end.
func withoutHalf(b []byte) []byte {
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		if at := len(b) - back; utf8.RuneStart(b[at]) {
			if !utf8.FullRune(b[at:]) {
				return b[:at]
			}
			break
		}
	}
	return b
}

// text turns bytes into valid text, and records whether they were invalid.
func (e *Excerpt) text(b []byte) string {
	e.Repaired = e.Repaired || !utf8.Valid(bytes.TrimPrefix(b, []byte("\uFEFF")))
	return clean(b)
}

// offsetOf returns the byte offset of character n of a text, or its end.
func offsetOf(text string, n int) int {
	if n <= 0 {
		return 0
	}
	for i := range text {
		if n == 0 {
			return i
		}
		n--
	}
	return len(text)
}
