package server

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/monitor/monitortest"
)

// heldClock is a clock that can be stopped at a time.
type heldClock struct {
	goes func() time.Time
	at   atomic.Int64 // ms; 0: it goes
}

func (w *heldClock) Now() time.Time {
	if at := w.at.Load(); at != 0 {
		return time.UnixMilli(at)
	}
	return w.goes()
}

// onClock has a program go by a clock.
func onClock(w *heldClock) func(*Options) {
	return func(o *Options) {
		w.goes = o.Now
		o.Now = w.Now
	}
}

// record records what is answered at the time when the newest event was stored.
func (w *heldClock) record(t *testing.T, p *Program, url string, words ...string) *monitortest.Recording {
	t.Helper()
	defer w.at.Store(0)
	for range 100 {
		head, err := p.log.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		e, err := p.log.Event(t.Context(), head.Seq)
		if err != nil {
			t.Fatal(err)
		}
		w.at.Store(e.RecordedAt)
		if r := monitortest.Record(t, asking(t, url), words...); r.Seq == head.Seq {
			return r
		}
	}
	t.Fatal("the log keeps changing")
	return nil
}

func asking(t *testing.T, url string) monitortest.Ask {
	return func(path string) (int, http.Header, []byte) {
		t.Helper()
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, response.Header, body
	}
}

// Where another gateway produces, everything except the contents of its files is answered as of then.
func TestAsOfInAProgramThatFollows(t *testing.T) {
	t.Parallel()
	w := &heldClock{}
	p, ready := testProgram(t)
	p.opts.Follow = true
	onClock(w)(&p.opts)
	f := &followed{Program: New(p.opts), t: t, ready: ready}
	f.start()
	t.Cleanup(f.end)
	lines, err := os.ReadFile(filepath.Join("..", "testdata", "golden", "1-imported.lines"))
	if err != nil {
		t.Fatal(err)
	}
	var recorded []*monitortest.Recording
	list := strings.SplitAfter(string(lines), "\n")
	for _, part := range [][]string{list[:8], list[8:20]} {
		head, err := f.log.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f.write(strings.Join(part, ""))
		f.await(head.Seq + int64(len(part)))
		recorded = append(recorded, w.record(t, f.Program, f.api, "배포", "eden"))
	}
	f.write(strings.Join(list[20:], ""))
	for _, r := range recorded {
		r.Check(t, asking(t, f.api), "/api/agents", "/api/approvals", "/api/team-state")
	}
	before := recorded[0].Seq
	if err := f.past.Forget(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if status, _, body := asking(t, f.api)("/api/events?as_of=1"); status != http.StatusAccepted && status != http.StatusOK {
		t.Errorf("as of %d, forgotten: %d %s, want it rebuilt", before, status, body)
	}
	if status, _, body := monitortest.AsOf(t, asking(t, f.api), "/api/events", 1); status != http.StatusOK || !bytes.Contains(body, []byte(`"asOfSeq":1`)) {
		t.Errorf("as of 1: %d %s", status, body)
	}
}
