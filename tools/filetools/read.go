package filetools

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// Limits of one answer.
const (
	maxLines = 2000
	maxText  = 50 << 10
)

func (f *files) read(_ context.Context, call *tools.Call) (tool.Output, error) {
	args, err := tools.Decode[struct {
		Path          string
		Offset, Limit int
	}](call)
	if err != nil {
		return tool.Output{}, err
	}
	text, err := f.textOf(call, args.Path)
	if err != nil {
		return tool.Output{}, err
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	from := max(args.Offset-1, 0)
	if from > 0 && from >= len(lines) {
		return tool.Output{}, &tool.Error{Code: tool.CodeInvalid, Field: "/offset", Text: fmt.Sprintf("offset is %d, but the file has %d lines", args.Offset, len(lines)),
			Hint: "give a smaller offset"}
	}
	most := maxLines
	if args.Limit > 0 {
		most = min(args.Limit, maxLines)
	}
	shown, to := within(lines[from:], most)
	if to += from; to < len(lines) {
		shown += fmt.Sprintf("\n[lines %d-%d of %d are shown; continue with offset=%d]", from+1, to, len(lines), to+1)
	}
	return tool.Output{Text: shown}, nil
}

// Reader returns what reads a whole file of the caller's workspace, of any kind, with at most most bytes.
func Reader(o Options) func(call *tools.Call, path string, most int64) ([]byte, error) {
	return (&files{opts: o, locks: map[string]*sync.Mutex{}}).contentOf
}

func (f *files) contentOf(call *tools.Call, path string, most int64) ([]byte, error) {
	p, err := f.open(call, false)
	if err != nil {
		return nil, err
	}
	defer p.close()
	dir, name, err := p.parent(path, false)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	content, _, err := dir.contentWithin(name, most)
	return content, err
}

// textOf reads a text file.
func (f *files) textOf(call *tools.Call, path string) (string, error) {
	text, err := f.contentOf(call, path, maxFile)
	if err == nil && !isText(text) {
		err = failure(tool.CodeNotFile, path, "is not a text file", "use a program that reads its format")
	}
	return string(text), err
}

func isText(b []byte) bool { return bytes.IndexByte(b, 0) < 0 && utf8.Valid(b) }

// within joins the first lines that fit, at least one of them, which is cut if necessary, and returns how many they are.
func within(lines []string, most int) (text string, n int) {
	var b strings.Builder
	for n = range min(most, len(lines)) {
		line := lines[n]
		if b.Len()+len(line) > maxText {
			if n > 0 {
				return b.String(), n
			}
			b.WriteString(strings.ToValidUTF8(line[:maxText], "") + "… [the line is cut]\n")
			continue
		}
		b.WriteString(line)
	}
	return b.String(), min(most, len(lines))
}
