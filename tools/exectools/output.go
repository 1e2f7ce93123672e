package exectools

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	// maxKept bounds the output of a command that is kept: its end.
	maxKept = 256 << 10
	// maxAnswer bounds the output in one answer, and maxRecord that in one event.
	maxAnswer = 48 << 10
	maxRecord = 16 << 10
	// maxRecorded bounds the output of a command in the log.
	maxRecorded = 256 << 10
)

// written keeps the end of what a command writes.
type written struct {
	mu       sync.Mutex
	kept     []byte
	first    int64 // position of the first kept byte
	seen     int64 // position up to which the agent has seen it
	noted    int64 // position up to which it is in the log, or left out
	recorded int64 // bytes in the log
}

func newOutput() *written { return &written{} }

func (o *written) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(b)
	if n > maxKept {
		o.first += int64(len(o.kept) + n - maxKept)
		o.kept, b = o.kept[:0], b[n-maxKept:]
	}
	o.kept = append(o.kept, b...)
	if over := len(o.kept) - maxKept; over > 0 {
		o.kept = append(o.kept[:0], o.kept[over:]...)
		o.first += int64(over)
	}
	return n, nil
}

// unseen returns the output since the last call; if it is long, its end with how many bytes are left out before that.
func (o *written) unseen() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	end := o.first + int64(len(o.kept))
	from := max(o.seen, o.first, end-maxAnswer)
	omitted := from - o.seen
	o.seen = end
	text := strings.ToValidUTF8(string(o.kept[from-o.first:]), "\uFFFD")
	if omitted > 0 {
		text = fmt.Sprintf("[%d bytes are left out]\n%s", omitted, text)
	}
	return text
}

// unrecorded returns the end of the output that is not in the log yet, its position, and how many bytes before it are left out. It is cut at the ends
// of lines, as far as they are not too long, so that a secret is not in two parts that do not look like one.
func (o *written) unrecorded(ended bool) (text string, from, dropped int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	end := o.first + int64(len(o.kept))
	start := max(o.noted, o.first)
	if last := int64(bytes.LastIndexByte(o.kept[start-o.first:], '\n')); !ended && last >= 0 {
		end = start + last + 1
	} else if !ended && end-start < maxRecord {
		return "", o.noted, 0
	}
	if from = max(start, end-min(maxRecord, maxRecorded-o.recorded)); from > start {
		if line := int64(bytes.IndexByte(o.kept[from-o.first:end-o.first], '\n')); line >= 0 && from+line+1 < end {
			from += line + 1
		}
	}
	for from < end && from > o.noted && !utf8.RuneStart(o.kept[from-o.first]) {
		from++
	}
	dropped = from - o.noted
	o.noted, o.recorded = end, o.recorded+end-from
	return strings.ToValidUTF8(string(o.kept[from-o.first:end-o.first]), "\uFFFD"), from, dropped
}

// lines returns some lines of what is kept; the last ones if from is 0.
func (o *written) lines(from, limit int) string {
	o.mu.Lock()
	all := strings.Split(strings.TrimRight(strings.ToValidUTF8(string(o.kept), "\uFFFD"), "\n"), "\n")
	o.mu.Unlock()
	if from == 0 {
		from = max(len(all)-limit, 0)
	}
	from = min(from, len(all))
	text := strings.Join(all[from:min(from+limit, len(all))], "\n")
	if len(text) > maxAnswer {
		text = strings.ToValidUTF8(text[len(text)-maxAnswer:], "")
	}
	return text
}
