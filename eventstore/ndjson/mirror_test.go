package ndjson_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
)

// mirrored is a log with its mirror.
type mirrored struct {
	*storetest.Model
	now  time.Time // what the log's clock shows
	dir  string    // the state directory
	mark string
	idle chan struct{} // gets a value when the mirror has nothing left to do
	text bytes.Buffer  // what the mirror logs
}

func newMirrored(t testing.TB) *mirrored {
	t.Helper()
	m := &mirrored{now: time.UnixMilli(clockMs), dir: t.TempDir(), idle: make(chan struct{})}
	m.mark = filepath.Join(m.dir, "mark")
	random := rand.NewChaCha8([32]byte{2})
	m.Model = storetest.NewModel(func() time.Time { return m.now }, eventstore.NewIDs(func() time.Time { return m.now }, random), random)
	return m
}

// Wait tells that the mirror waits for the next event.
func (m *mirrored) Wait(ctx context.Context, seq int64) (int64, error) {
	select {
	case m.idle <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return m.Model.Wait(ctx, seq)
}

// happens appends an event of ours.
func (m *mirrored) happens(t testing.TB, typ, text string, actor eventstore.Actor) {
	t.Helper()
	data, err := json.Marshal(map[string]string{"message": text})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Append(t.Context(), eventstore.StreamAppend{Stream: "s",
		Events: []eventstore.NewEvent{{Type: typ, AgentID: "eden", TS: clockMs + int64(len(text)), Actor: actor, Data: data}}})
	if err != nil {
		t.Fatal(err)
	}
}

func bookkeeping(typ string) bool { return strings.HasPrefix(typ, "run.") }

// runs lets a mirror work until it has nothing left to do, then do meanwhile, each once more until it is idle again.
func (m *mirrored) runs(t testing.TB, o ndjson.MirrorOptions, meanwhile ...func(*ndjson.Mirror)) ndjson.MirrorStatus {
	t.Helper()
	o.Log, o.StateDir, o.Internal = m, m.dir, bookkeeping
	o.Logger = slog.New(slog.NewTextHandler(&m.text, nil))
	mirror := ndjson.NewMirror(o)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mirror.Run(ctx) }()
	m.catchesUp(t, mirror)
	for _, do := range meanwhile {
		do(mirror)
		m.catchesUp(t, mirror)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return mirror.Status()
}

// catchesUp returns when the mirror has reached the end of the log.
func (m *mirrored) catchesUp(t testing.TB, mirror *ndjson.Mirror) {
	t.Helper()
	head, err := m.Head(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	for <-m.idle; mirror.Status().Seq < head.Seq; {
		<-m.idle
	}
}

func (m *mirrored) live() string { return filepath.Join(m.dir, "logs", "coordination-events.ndjson") }

// files gives the lines of all logs, archives first.
func (m *mirrored) files(t testing.TB) (lines []string) {
	t.Helper()
	paths, err := ndjson.Logs(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 0 && text[len(text)-1] != '\n' {
			t.Errorf("%s ends within a line", path)
		}
		lines = append(lines, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")...)
	}
	return lines
}

// want is the expected content of the files.
func (m *mirrored) want(t testing.TB) (lines []string) {
	t.Helper()
	for _, e := range all(t, m.Model) {
		if e.Actor != eventstore.ActorImport && !bookkeeping(e.Type) {
			lines = append(lines, fmt.Sprintf(`{"type":%q,"agentId":%q,"ts":%d,"data":%s,"id":%q}`, e.Type, e.AgentID, e.TS, e.Data, e.ID))
		}
	}
	return lines
}

func wantLines(t interface {
	Helper()
	Fatalf(string, ...any)
}, what string, got, want []string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestMirrorWritesOwnEventsOnly(t *testing.T) {
	t.Parallel()
	m := newMirrored(t)
	m.happens(t, "a2a.send", "배포 <&> \"\u2028\n", eventstore.ActorAgent)
	m.happens(t, "a2a.send", "imported", eventstore.ActorImport)
	m.happens(t, "run.started", "internal", eventstore.ActorSystem)
	m.happens(t, "task.started", "two", eventstore.ActorHuman)
	announced := 0
	status := m.runs(t, ndjson.MirrorOptions{Wrote: func(file string, lines int) {
		if file != m.live() {
			t.Errorf("announced %s", file)
		}
		announced += lines
	}}, func(*ndjson.Mirror) { m.happens(t, "a2a.complete", "three", eventstore.ActorSystem) })
	wantLines(t, "files", m.files(t), m.want(t))
	if status.Seq != 5 || status.Lines != 3 || announced != 3 || status.Error != "" || status.Foreign || status.File != m.live() {
		t.Errorf("status %+v, %d lines announced", status, announced)
	}
}

// A start completes a last line that a kill cut off at any point, and no line is doubled.
func TestMirrorGoesOnWhereItWasCutOff(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := newMirrored(t)
		o := ndjson.MirrorOptions{MaxBytes: int64(rapid.IntRange(1, 2_000).Draw(rt, "max"))}
		if rapid.Bool().Draw(rt, "foreign lines first") {
			m.writes(t, `{"type":"note","id":"0197c9a4-5b1e-7c3d-9f00-112233445566"}`+"\n")
		}
		foreign := len(m.files(t))
		for round := range rapid.IntRange(1, 4).Draw(rt, "rounds") {
			for i := range rapid.IntRange(0, 6).Draw(rt, "events") {
				m.happens(t, rapid.SampledFrom([]string{"a2a.send", "task.started", "run.started"}).Draw(rt, "type"),
					fmt.Sprint(round, i, strings.Repeat("가", rapid.IntRange(0, 300).Draw(rt, "long"))),
					rapid.SampledFrom([]eventstore.Actor{eventstore.ActorAgent, eventstore.ActorImport}).Draw(rt, "actor"))
			}
			m.now = m.now.Add(time.Duration(rapid.IntRange(0, 40).Draw(rt, "days")) * 24 * time.Hour)
			m.runs(t, o)
			wantLines(rt, "files", m.files(t)[foreign:], m.want(t))
			if text, err := os.ReadFile(m.live()); err == nil && rapid.Bool().Draw(rt, "killed") {
				// Only what came after the last sync can be lost, and only from its end on.
				whole := bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n') + 1
				if cut := rapid.IntRange(whole, len(text)).Draw(rt, "cut"); foreign == 0 || whole > 0 {
					if err := os.Truncate(m.live(), int64(cut)); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		m.runs(t, o)
		wantLines(rt, "files at last", m.files(t)[foreign:], m.want(t))
	})
}

// writes appends text to the live log, as another process would.
func (m *mirrored) writes(t testing.TB, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.live()), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(m.live(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
