package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/gateway"
)

// The log is sent in pages: each line once, the newest if there are too many, from the beginning for a cursor of another process.
func TestTailOfTheLog(t *testing.T) {
	t.Parallel()
	const most = 40
	l := &logBuffer{most: most}
	for i := range 12 {
		if _, err := fmt.Fprintf(l, "line %02d..\n", i); err != nil { // 10 bytes each: the last four are kept
			t.Fatal(err)
		}
	}
	const all, large = 120, 1000
	tail := func(from, to int, truncated, reset bool) gateway.LogTail {
		want := gateway.LogTail{Source: "openclawd, in memory", Cursor: all, Size: all, Lines: []string{}, Truncated: truncated, Reset: reset}
		for i := from; i < to; i++ {
			want.Lines = append(want.Lines, fmt.Sprintf("line %02d..", i))
		}
		return want
	}
	for name, c := range map[string]struct {
		cursor          int64
		limit, maxBytes int
		want            gateway.LogTail
	}{
		"from the beginning":    {-1, large, large, tail(8, 12, true, false)},
		"from what is not kept": {10, large, large, tail(8, 12, true, false)},
		"from the first kept":   {80, large, large, tail(8, 12, false, false)},
		"from within a line":    {85, large, large, tail(9, 12, false, false)},
		"nothing new":           {all, large, large, tail(0, 0, false, false)},
		"of another life":       {all + 1, large, large, tail(8, 12, true, true)},
		"few lines":             {80, 2, large, tail(10, 12, true, false)},
		"as many as there are":  {80, 4, large, tail(8, 12, false, false)},
		"few bytes":             {80, large, 25, tail(10, 12, true, false)},
		"too few bytes":         {80, large, 5, tail(0, 0, true, false)},
	} {
		if diff := cmp.Diff(c.want, l.Tail(c.cursor, c.limit, c.maxBytes)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := fmt.Fprintln(l, strings.Repeat("x", most)); err != nil {
		t.Fatal(err)
	}
	if got := l.Tail(all, large, large); len(got.Lines) != 0 || !got.Truncated || got.Size != all+most+1 {
		t.Errorf("a line that is larger than all that is kept: %+v", got)
	}
}

// What is shown is kept, from any logger and concurrently; what is not shown is not.
func TestLinesThatAreShownAreKept(t *testing.T) {
	t.Parallel()
	kept := &logBuffer{most: keptLogBytes}
	var shown strings.Builder
	logger, err := NewLogger(&shown, "info,monitor=debug", "text")
	if err != nil {
		t.Fatal(err)
	}
	logger = keepLog(logger, kept)
	var together sync.WaitGroup
	for i := range 20 {
		together.Go(func() {
			logger.With("component", "monitor", "n", i).Debug("asked", "path", "/에덴")
			logger.With("component", "import").Debug("not shown")
			logger.WithGroup("g").Info("served")
		})
	}
	together.Wait()
	tail := kept.Tail(0, 1_000, 1<<20)
	if n := strings.Count(shown.String(), "\n"); n != 40 || len(tail.Lines) != n {
		t.Fatalf("%d lines shown, %d kept", n, len(tail.Lines))
	}
	asked := 0
	for _, line := range tail.Lines {
		var l struct { // where clients look
			Time, Component, Path string
			Message               string                        `json:"0"`
			Meta                  struct{ LogLevelName string } `json:"_meta"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Time == "" || l.Meta.LogLevelName == "" || l.Message == "" {
			t.Errorf("%s: %v", line, err)
		}
		if l.Component == "monitor" && l.Path == "/에덴" && l.Meta.LogLevelName == "DEBUG" {
			asked++
		}
	}
	if asked != 20 {
		t.Errorf("%d lines of monitor", asked)
	}
}
