package ndjson_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
)

// Archives are named as the original names them, none is overwritten, and every line stands in one of them once.
func TestMirrorArchivesByMonthAndBySize(t *testing.T) {
	t.Parallel()
	m := newMirrored(t)
	taken := filepath.Join(m.dir, "logs", "coordination-events-2026-03.ndjson")
	if err := os.MkdirAll(filepath.Dir(taken), 0o700); err != nil {
		t.Fatal(err)
	}
	at := func(text string) {
		t.Helper()
		var err error
		if m.now, err = time.Parse(time.RFC3339, text); err != nil {
			t.Fatal(err)
		}
		m.happens(t, "a2a.send", text+strings.Repeat("x", 100), eventstore.ActorAgent)
	}
	o := ndjson.MirrorOptions{MaxBytes: 500}
	at("2026-02-27T23:59:59Z")
	m.runs(t, o)
	const shared = 0o640 // a group may read
	if err := os.Chmod(m.live(), shared); err != nil {
		t.Fatal(err)
	}
	at("2026-02-28T23:59:59.999Z")
	at("2026-03-01T00:00:00Z") // a new month
	for range 3 {              // and too much for one file
		at("2026-03-01T12:00:00Z")
	}
	m.runs(t, o)
	const others = "foreign\n"
	if err := os.WriteFile(taken, []byte(others), 0o600); err != nil {
		t.Fatal(err)
	}
	at("2026-05-01T00:00:00Z") // March's name is taken
	m.runs(t, o)
	if text, err := os.ReadFile(taken); err != nil || string(text) != others {
		t.Errorf("the archive that was there is %q now, %v", text, err)
	}
	paths, err := ndjson.Logs(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	want := []string{
		"coordination-events-2026-02.ndjson",
		"coordination-events-2026-03-01T12-00-00-000Z.ndjson",
		"coordination-events-2026-03.ndjson",
		"coordination-events-2026-05-01T00-00-00-000Z.ndjson",
		"coordination-events.ndjson",
	}
	if !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
	if info, err := os.Stat(m.live()); err != nil || info.Mode().Perm() != shared {
		t.Errorf("the new file is not for whom the old one was: %v, %v", info.Mode(), err)
	}
	lines := slices.DeleteFunc(m.files(t), func(line string) bool { return line+"\n" == others })
	wantLines(t, "files", lines, m.want(t))
}

// What stands in the log already stays, also a last line that its writer did not finish.
func TestMirrorLeavesForeignLinesAlone(t *testing.T) {
	t.Parallel()
	for name, there := range map[string]string{
		"whole":        `{"type":"note"}` + "\n",
		"cut off":      `{"type":"no`,
		"not cut off":  `{"type":"note"}`,
		"nothing":      "",
		"very long":    strings.Repeat("x", ndjson.MaxLineBytes+300_000),
		"long, before": strings.Repeat("x", ndjson.MaxLineBytes+300_000) + "\n{}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMirrored(t)
			m.now = time.Now() // the month of the file that is there
			m.writes(t, there)
			m.happens(t, "a2a.send", "ours", eventstore.ActorAgent)
			m.runs(t, ndjson.MirrorOptions{MaxBytes: 1 << 30})
			m.runs(t, ndjson.MirrorOptions{MaxBytes: 1 << 30})
			text, err := os.ReadFile(m.live())
			if err != nil {
				t.Fatal(err)
			}
			if there != "" && !strings.HasSuffix(there, "\n") {
				there += "\n"
			}
			if want := there + m.want(t)[0] + "\n"; string(text) != want {
				t.Errorf("the log is %d bytes, ending %.300q, want %d", len(text), text[max(0, len(text)-300):], len(want))
			}
		})
	}
}

func TestMirrorReportsForeignWriterOnce(t *testing.T) {
	t.Parallel()
	m := newMirrored(t)
	m.now = time.Now() // the month of what the other one writes
	m.happens(t, "a2a.send", "one", eventstore.ActorAgent)
	foreign := `{"type":"note","agentId":"other","ts":1,"data":{}}`
	status := m.runs(t, ndjson.MirrorOptions{Look: time.Millisecond},
		func(mirror *ndjson.Mirror) {
			m.writes(t, foreign+"\n")
			for !mirror.Status().Foreign {
				<-m.idle // it looks without being told to write
			}
		},
		func(*ndjson.Mirror) { m.happens(t, "a2a.send", "two", eventstore.ActorAgent) },
		func(*ndjson.Mirror) { m.writes(t, foreign+"\n") },
		func(*ndjson.Mirror) { m.happens(t, "a2a.send", "three", eventstore.ActorAgent) },
	)
	want := m.want(t)
	wantLines(t, "log", m.files(t), []string{want[0], foreign, want[1], foreign, want[2]})
	if !status.Foreign || strings.Count(m.text.String(), "--follow") != 1 {
		t.Errorf("foreign is %v, logged:\n%s", status.Foreign, &m.text)
	}
	// A removed log is created again, after what the mirror has written.
	m.runs(t, ndjson.MirrorOptions{}, func(*ndjson.Mirror) {
		if err := os.Rename(m.live(), m.live()+".away"); err != nil {
			t.Fatal(err)
		}
		m.happens(t, "a2a.send", "four", eventstore.ActorAgent)
	})
	wantLines(t, "new log", m.files(t), m.want(t)[3:])
}

func TestMirrorTriesAgainWhatFailed(t *testing.T) {
	t.Parallel()
	m := newMirrored(t)
	obstacle := filepath.Join(m.dir, "logs")
	if err := os.WriteFile(obstacle, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m.happens(t, "a2a.send", "one", eventstore.ActorAgent)
	mirror := ndjson.NewMirror(ndjson.MirrorOptions{Log: m, StateDir: m.dir, Retry: time.Millisecond})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mirror.Run(ctx) }()
	if status, err := mirror.Wait(ctx, func(s ndjson.MirrorStatus) bool { return s.Error != "" || s.Seq > 0 }); err != nil || status.Error == "" {
		t.Fatalf("the mirror does not know that it could not write: %v", err)
	}
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	<-m.idle
	if status := mirror.Status(); status.Error != "" || status.Lines != 1 {
		t.Errorf("status %+v", status)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	wantLines(t, "files", m.files(t), m.want(t))
}

// With a stored position a start does not search the logs, so that lines of removed logs are not written again.
func TestMirrorGoesOnFromItsMark(t *testing.T) {
	t.Parallel()
	m := newMirrored(t)
	o := ndjson.MirrorOptions{Mark: m.mark}
	m.happens(t, "a2a.send", "one", eventstore.ActorAgent)
	m.runs(t, o)
	if err := os.Remove(m.live()); err != nil {
		t.Fatal(err)
	}
	m.happens(t, "a2a.send", "two", eventstore.ActorAgent)
	m.runs(t, o)
	wantLines(t, "files", m.files(t), m.want(t)[1:])

	for name, text := range map[string]string{"of another log": `{"seq":1,"hash":"` + strings.Repeat("0", 64) + `"}`, "damaged": "{"} {
		if err := os.WriteFile(m.mark, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m.runs(t, o)
		wantLines(t, "files after a mark "+name, m.files(t), m.want(t)[1:])
	}
}

// Importing what was mirrored adds nothing to the log that it came from, and gives another one the same events.
func TestMirroredLinesAreImportedByTheirIDs(t *testing.T) {
	t.Parallel()
	m := newMirrored(t)
	for i := range 20 {
		m.happens(t, "a2a.send", fmt.Sprint("same"[:i%4]), eventstore.ActorAgent)
	}
	m.runs(t, ndjson.MirrorOptions{MaxBytes: 900})
	paths, err := ndjson.Logs(m.dir)
	if err != nil || len(paths) < 3 {
		t.Fatalf("%d logs, %v", len(paths), err)
	}
	before := all(t, m.Model)
	report, err := ndjson.New(options(m.Model)).ImportFiles(t.Context(), paths)
	if total := report.Total(); err != nil || total.New != 0 || total.Duplicates != 20 {
		t.Errorf("imported again: %+v, %v", total, err)
	}
	other := newLog()
	report, err = ndjson.New(options(other)).ImportFiles(t.Context(), paths)
	if total := report.Total(); err != nil || total.New != 20 {
		t.Errorf("imported elsewhere: %+v, %v", total, err)
	}
	for i, e := range all(t, other) {
		if w := before[i]; e.ID != w.ID || e.Type != w.Type || e.AgentID != w.AgentID || e.TS != w.TS || string(e.Data) != string(w.Data) || e.Original != nil {
			t.Errorf("event %d is %+v, was %+v", i+1, e, w)
		}
	}
}

// A log is archived while it is being written to, between two lines: each line stands whole in one file, and none is lost or stands in two.
func TestBug16_ArchivingLosesNoLine(t *testing.T) {
	t.Parallel()
	m := newMirrored(t)
	burst := func(*ndjson.Mirror) {
		for i := range 40 {
			m.now = m.now.Add(time.Second)
			m.happens(t, "a2a.send", strings.Repeat("가", i), eventstore.ActorAgent)
		}
	}
	status := m.runs(t, ndjson.MirrorOptions{MaxBytes: 300}, burst, burst, burst)
	paths, err := ndjson.Logs(m.dir)
	if err != nil || len(paths) < 40 || status.Error != "" {
		t.Fatalf("%d files, %+v, %v", len(paths), status, err)
	}
	wantLines(t, "files", m.files(t), m.want(t))
}
