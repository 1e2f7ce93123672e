package ndjson_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
)

// redact blanks events of a log, and returns them.
func redact(t TB, log interface {
	Event(context.Context, int64) (eventstore.Event, error)
	Redact(context.Context, int64) error
}, seqs ...int64) map[eventstore.ID]bool {
	t.Helper()
	ids := map[eventstore.ID]bool{}
	for _, seq := range seqs {
		e, err := log.Event(context.Background(), seq)
		if err != nil {
			t.Fatal(err)
		}
		ids[e.ID] = e.Actor == eventstore.ActorImport || e.Type == "import.rejected"
		if err := log.Redact(context.Background(), seq); err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

func (d *fixture) blank(ids map[eventstore.ID]bool) ndjson.BlankReport {
	d.Helper()
	report, err := d.follower.Blank(context.Background(), ndjson.BlankOptions{IDs: ids})
	d.must(err)
	return report
}

// Lines of what was redacted are overwritten in archives and in the live log; following goes on where it was, across restarts, and reading all of it
// again adds nothing.
func TestBlankedLinesOfAFollowedLog(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(lines("one", "a secret 비밀", "three"))
	d.look()
	archived := d.rotate()
	d.write(lines("four", "another secret 비밀", "six"))
	d.look()
	before, err := os.Stat(archived)
	d.must(err)

	if report := d.blank(redact(t, d.log, 2, 5)); report.Lines != 2 || len(report.Files) != 2 {
		t.Errorf("report %+v, want 2 lines of 2 files", report)
	}
	after, err := os.Stat(archived)
	d.must(err)
	if !os.SameFile(before, after) || before.Size() != after.Size() {
		t.Errorf("the archive is another file, or of another size: %d, was %d", after.Size(), before.Size())
	}
	for _, path := range []string{archived, d.live()} {
		text, err := os.ReadFile(path)
		d.must(err)
		if bytes.Contains(text, []byte("비밀")) || bytes.Contains(text, []byte("secret")) || bytes.Count(text, []byte("\n")) != 3 ||
			!bytes.Contains(text, []byte(`"redacted":true`)) {
			t.Errorf("%s: %s", path, text)
		}
	}
	if report := d.look(); report.Lines != 0 {
		t.Errorf("the next look reads %+v, want nothing", report)
	}
	d.write(event("seven") + "\n")
	if report := d.look(); report.New != 1 || report.Lines != 1 {
		t.Errorf("the look after that: %+v, want the new line alone", report)
	}
	d.restart()
	d.write(event("eight") + "\n")
	if report := d.look(); report.New != 1 || report.Lines != 1 {
		t.Errorf("after a restart: %+v, want the new line alone", report)
	}
	d.must(os.Remove(d.options.Positions))
	d.follower = ndjson.NewFollower(d.options)
	if report := d.look(); report.New != 0 || report.Lines != 8 {
		t.Errorf("read again: %+v, want 8 lines and nothing new", report)
	}
	if report := d.blank(redact(t, d.log, 2, 5)); report.Lines != 2 || len(report.Files) != 0 {
		t.Errorf("done again: %+v, want the same 2 lines, and no file written", report)
	}
}

// Without a running follower its positions are adapted; those of a log that was changed otherwise stay wrong, so that
// it is read again.
func TestBlankedLinesKeepPositions(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(lines("one", "secret", "three"))
	d.look()
	d.follower.Close()
	ids := redact(t, d.log, 2)
	_, err := ndjson.Blank(t.Context(), ndjson.BlankOptions{StateDir: d.state, Log: d.log, IDs: ids, Positions: d.options.Positions})
	d.must(err)
	d.follower = ndjson.NewFollower(d.options)
	if n, _, err := d.follower.Pending(t.Context()); err != nil || n != 0 {
		t.Errorf("%d bytes are to be read (%v), want none", n, err)
	}
}

// A line too short for an id becomes blanks, which are no line; so does a line that is not an event and contains the
// text.
func TestBlankedLinesWithoutRoom(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(`{"type":"x","data":{"n":"secret"}}` + "\n" + `{"type":"torn secret` + "\n" + event("kept") + "\n" + `{"type":"unfinished secret`)
	d.look()
	ids := redact(t, d.log, 1, 2)
	options := ndjson.BlankOptions{StateDir: d.state, Log: d.log, IDs: ids, Holds: func(text []byte) bool { return bytes.Contains(text, []byte("secret")) }}
	_, err := ndjson.Blank(t.Context(), options)
	d.must(err)
	text, err := os.ReadFile(d.live())
	d.must(err)
	if got := strings.Split(string(text), "\n"); strings.TrimSpace(got[0]) != "" || strings.Contains(got[1], "secret") || got[2] != event("kept") ||
		got[3] != `{"type":"unfinished secret` {
		t.Errorf("the log is %q; an unfinished line is left alone", got)
	}
	options.Finished = true
	_, err = ndjson.Blank(t.Context(), options)
	d.must(err)
	if text, err = os.ReadFile(d.live()); err != nil || bytes.Contains(text, []byte("secret")) {
		t.Errorf("the log is %q, %v", text, err)
	}
	report := mustImport(t, ndjson.New(d.options.Import), string(text), "live")
	if report.New != 0 {
		t.Errorf("imported again: %+v, want nothing new", report)
	}
}

// Of equal lines, those of the redacted events are overwritten.
func TestBlankedLinesAmongEqualOnes(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(lines("same", "same", "same", "other"))
	d.look()
	d.blank(redact(t, d.log, 2))
	text, err := os.ReadFile(d.live())
	d.must(err)
	got := strings.Split(string(text), "\n")
	if got[0] != event("same") || got[1] == event("same") || got[2] != event("same") {
		t.Errorf("%q: want the second line blank and no other", got)
	}
	d.blank(redact(t, d.log, 1, 3))
	if text, err = os.ReadFile(d.live()); err != nil || bytes.Contains(text, []byte("same")) {
		t.Errorf("%s, %v: want none of them left", text, err)
	}
}

// If archives are gone, the remaining lines count as the later of equal events.
func TestBlankedLinesAfterArchivesWereRemoved(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(lines("same"))
	d.look()
	gone := d.rotate()
	d.write(lines("same", "other"))
	d.look()
	d.must(os.Remove(gone))
	d.blank(redact(t, d.log, 2))
	text, err := os.ReadFile(d.live())
	d.must(err)
	if bytes.Contains(text, []byte("same")) || !bytes.Contains(text, []byte("other")) {
		t.Errorf("%s: the line of the second event is to be blank", text)
	}
}

// A mirror resumes behind lines that were overwritten, and finds the last one that it wrote.
func TestMirrorGoesOnBehindBlankedLines(t *testing.T) {
	t.Parallel()
	m := newMirrored(t)
	m.happens(t, "a2a.send", "hello", eventstore.ActorAgent)
	m.happens(t, "a2a.send", "the secret 비밀입니다", eventstore.ActorAgent)
	m.runs(t, ndjson.MirrorOptions{}, func(*ndjson.Mirror) {
		ids := redact(t, m.Model, 2)
		if report, err := ndjson.Blank(t.Context(), ndjson.BlankOptions{StateDir: m.dir, Log: m.Model, IDs: ids}); err != nil || report.Lines != 1 {
			t.Errorf("%+v, %v", report, err)
		}
		m.happens(t, "a2a.send", "third", eventstore.ActorAgent)
	})
	m.happens(t, "a2a.send", "fourth", eventstore.ActorAgent)
	if s := m.runs(t, ndjson.MirrorOptions{}); s.Foreign || s.Lines != 1 {
		t.Errorf("%+v, want one more line, and no other producer", s)
	}
	lines := m.files(t)
	if len(lines) != 4 || strings.Contains(lines[1], "비밀") || !strings.HasPrefix(lines[1], `{"type":"a2a.send","agentId":"eden","ts":`) ||
		!strings.Contains(lines[1], `"data":{},"redacted":true`) {
		t.Errorf("lines %q", lines)
	}
	report := mustImport(t, ndjson.New(ndjson.Options{Log: m.Model, Stream: func(string, string, []byte, []byte) string { return "s" }}), strings.Join(lines, "\n")+"\n", "live")
	if report.New != 0 || report.Duplicates != 4 {
		t.Errorf("imported again: %+v", report)
	}
}

// After any redaction in any log nothing of it is left in the files, their sizes are unchanged, and importing them
// again adds nothing.
func TestBlankedLinesWhateverTheyAre(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "blank")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		d := fixtureIn(t, dir)
		defer d.kill()
		texts := rapid.SliceOfN(rapid.SampledFrom([]string{
			`{"type":"a","agentId":"x","ts":1,"data":{"m":"secret 1"}}`, `{"type":"a","agentId":"x","ts":1,"data":{"m":"plain"}}`,
			`{"type":"b","m":"secret 2"}`, `{"no":"secret 3"}`, `secret 4`, ``, `{"type":"c","data":{"m":"secret"},"id":"0197c9a4-5b1e-7c3d-9f00-112233445566"}`,
			`{"type":"d","timestamp":"2026-02-20T08:00:00Z","data":{"long":"` + strings.Repeat("비밀 secret ", 600) + `"}}`,
		}), 1, 12).Draw(t, "lines")
		rotate := rapid.IntRange(0, len(texts)).Draw(t, "rotate")
		for i, text := range texts {
			if i == rotate && i > 0 {
				d.rotate()
			}
			d.write(text + "\n")
			d.look()
		}
		var seqs []int64
		n := len(eventsOf(t, d.log))
		for seq := int64(1); seq <= int64(n); seq++ {
			e, err := d.log.Event(context.Background(), seq)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(e.Data, []byte("secret")) || bytes.Contains(e.Original, []byte("secret")) {
				seqs = append(seqs, seq)
			}
		}
		before := sizesOf(t, d)
		d.blank(redact(t, d.log, seqs...))
		if after := sizesOf(t, d); after != before {
			t.Fatalf("sizes %s, were %s", after, before)
		}
		paths, err := ndjson.Logs(d.state)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if text, err := os.ReadFile(path); err != nil || bytes.Contains(text, []byte("secret")) {
				t.Fatalf("%s: %s, %v", path, text, err)
			}
		}
		if report := d.look(); report.Lines != 0 {
			t.Fatalf("the next look reads %+v", report)
		}
		d.must(os.Remove(d.options.Positions))
		d.follower = ndjson.NewFollower(d.options)
		if report := d.look(); report.New != 0 {
			t.Fatalf("read again: %+v, want nothing new", report)
		}
	})
}

func eventsOf(t TB, log eventstore.Reader) []eventstore.Event {
	t.Helper()
	events, err := log.Read(context.Background(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func sizesOf(t TB, d *fixture) (sizes string) {
	t.Helper()
	paths, err := ndjson.Logs(d.state)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		sizes += fmt.Sprintf("%s %d\n", path, info.Size())
	}
	return sizes
}
