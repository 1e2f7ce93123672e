package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
)

// followed is a program that follows, and the log that it follows.
type followed struct {
	*Program
	t     testing.TB
	ready <-chan net.Addr
	stop  context.CancelFunc
	ended chan error
	api   string
}

func startFollowing(t *testing.T) *followed {
	t.Helper()
	p, ready := testProgram(t)
	p.opts.Follow = true
	f := &followed{Program: New(p.opts), t: t, ready: ready}
	f.start()
	t.Cleanup(func() { f.end() })
	return f
}

func (f *followed) start() {
	f.t.Helper()
	var ctx context.Context
	ctx, f.stop = context.WithCancel(context.Background())
	f.ended = make(chan error, 1)
	go func() { f.ended <- f.Run(ctx) }()
	select {
	case api := <-f.ready:
		f.api = "http://" + api.String()
	case err := <-f.ended:
		f.t.Fatalf("ended before it was ready: %v", err)
	}
}

func (f *followed) end() {
	f.t.Helper()
	f.stop()
	if f.ended == nil {
		return
	}
	if err := errors.Join(<-f.ended, f.Close()); err != nil {
		f.t.Error(err)
	}
	f.ended = nil
}

// restart ends the program and starts another one on the same files.
func (f *followed) restart() {
	f.t.Helper()
	f.end()
	f.Program = New(f.opts)
	f.start()
}

// await returns when the log has so many events.
func (f *followed) await(seq int64) {
	f.t.Helper()
	if _, err := f.log.Wait(f.t.Context(), seq); err != nil {
		f.t.Fatal(err)
	}
}

func (f *followed) path(name string) string {
	return filepath.Join(ndjson.LogDir(f.opts.StateDir), name)
}

func (f *followed) write(text string) {
	f.t.Helper()
	if err := os.MkdirAll(ndjson.LogDir(f.opts.StateDir), 0o700); err != nil {
		f.t.Fatal(err)
	}
	file, err := os.OpenFile(f.path(ndjson.LiveLog), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		f.t.Fatal(err)
	}
}

// messages asks the API for what came after seq.
func (f *followed) messages(after int64) (messages []string) {
	f.t.Helper()
	response, err := http.Get(fmt.Sprintf("%s/api/events?after=%d", f.api, after))
	if err != nil {
		f.t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Events []struct {
			Type string
			Data struct{ Message string }
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		f.t.Fatal(err)
	}
	for _, e := range answer.Events {
		messages = append(messages, e.Data.Message)
	}
	return messages
}

func message(text string) string {
	return fmt.Sprintf(`{"type":"a2a.send","agentId":"eden","ts":1771588800000,"data":{"fromAgent":"eden","toAgent":"seum","message":%q}}`, text) + "\n"
}

// A log that appears late is picked up; each line shows as soon as it is complete; rotation and a restart neither lose nor repeat any.
func TestServeFollows(t *testing.T) {
	t.Parallel()
	f := startFollowing(t)
	f.write(message("one"))
	f.await(1)
	half := message("배포 two")
	f.write(half[:len(half)-9])
	f.write(half[len(half)-9:] + message("three"))
	f.await(3)
	f.write(message("four"))
	if err := os.Rename(f.path(ndjson.LiveLog), f.path("coordination-events-2026-02-10T08-00-00-000Z.ndjson")); err != nil {
		t.Fatal(err)
	}
	f.write(message("five"))
	f.await(5)
	if got := fmt.Sprint(f.messages(1)); got != "[배포 two three four five]" {
		t.Errorf("after the first: %s", got)
	}
	f.write(message("six"))
	f.restart()
	f.write(message("seven") + message("seven"))
	f.await(8)
	if got := fmt.Sprint(f.messages(4)); got != "[five six seven seven]" {
		t.Errorf("after the restart: %s", got)
	}
	if s := f.followStatus(); s.File != f.path(ndjson.LiveLog) || !s.Present || s.LastLook.IsZero() || s.LastError != "" {
		t.Errorf("status %+v", s)
	}
	f.end()
	if positions, err := ndjson.ReadPositions(database.PositionsFile(f.opts.DB)); err != nil || len(positions.Files) != 2 || positions.Seq < 6 {
		t.Errorf("positions %+v, %v", positions, err)
	}
}

// Lines that are no events are kept, under the reason, like those of an import.
func TestServeFollowsPastBadLines(t *testing.T) {
	t.Parallel()
	f := startFollowing(t)
	f.write("broken\n" + message("one"))
	f.await(2)
	e, err := f.log.Event(t.Context(), 1)
	if err != nil || e.Type != coordination.TypeImportRejected {
		t.Errorf("event %+v, %v", e, err)
	}
}
