package playback

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/replay/asof"
)

const (
	rules    = coordination.RulesV2
	patience = testscale.Patience
)

var noon = time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)

// team is a log in which agents work together, recorded a second apart.
func team(t testing.TB) *sqlite.DB {
	t.Helper()
	var mu sync.Mutex
	now := noon
	log, _ := projectiontest.New(t, sqlite.Options{Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}}, database.Projections(rules)...)
	projectiontest.Tell(t, log, noon.UnixMilli()).Team()
	return log
}

func headOf(t testing.TB, log eventstore.Reader) int64 {
	t.Helper()
	head, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return head.Seq
}

func open(t testing.TB, opts Options) *Player {
	t.Helper()
	opts.Rules, opts.Dir = rules, t.TempDir()
	p, err := Open(t.Context(), opts, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// playing runs a player until the test ends, and returns a function that waits for its end.
func playing(t testing.TB, p *Player) (played func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(stop)
	return func() {
		t.Helper()
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("Run: %v", err)
			}
		case <-time.After(patience):
			t.Fatal("Run did not end")
		}
	}
}

// After playing a range the tables are as of its end, and meanwhile every reader sees tables, log and clock of one
// event.
func TestPlayerEndsWhereTheRangeEnds(t *testing.T) {
	t.Parallel()
	log := team(t)
	from, to := int64(7), headOf(t, log)-3
	p := open(t, Options{Log: log, From: from, To: to, Speed: 500})
	if head, _ := p.Head(t.Context()); head.Seq != from-1 {
		t.Errorf("starts at %d, want %d", head.Seq, from-1)
	}
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for last := int64(0); ctx.Err() == nil; {
				err := p.View(ctx, func(tx *sql.Tx) error {
					var head, tables int64
					if err := tx.QueryRowContext(ctx, "SELECT max(seq) FROM events").Scan(&head); err != nil {
						return err
					}
					if err := tx.QueryRowContext(ctx, "SELECT min(seq) FROM projections").Scan(&tables); err != nil {
						return err
					}
					if head != tables || head < last || head < from-1 || head > to {
						t.Errorf("a log of %d events with tables of %d after %d; want both equal, and never less", head, tables, last)
					}
					last = head
					return nil
				})
				if err != nil && ctx.Err() == nil {
					t.Errorf("View: %v", err)
				}
			}
		})
	}
	playing(t, p)()
	stop()
	readers.Wait()
	end, err := p.Head(t.Context())
	last, lastErr := log.Event(t.Context(), to)
	if err != nil || lastErr != nil || end.Seq != to || end.Hash != last.Hash || !p.Now().Equal(time.UnixMilli(last.RecordedAt)) {
		t.Errorf("ends at %+v at %s, %v, %v; want event %d of %d", end, p.Now(), err, lastErr, to, last.RecordedAt)
	}
	want, err := asof.Open(t.Context(), asof.Options{Log: log, Dir: t.TempDir(), Rules: rules}, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	defs := database.Projections(rules)
	if diff := cmp.Diff(projectiontest.Dump(t, want, defs...), projectiontest.Dump(t, p, defs...)); diff != "" {
		t.Errorf("tables (- as of that event, + played)\n%s", diff)
	}
	if events, err := p.Read(t.Context(), to-2, 100); err != nil || len(events) != 2 {
		t.Errorf("%d events after %d, %v; want 2", len(events), to-2, err)
	}
	if _, err := p.Event(t.Context(), to+1); !errors.Is(err, eventstore.ErrNotFound) {
		t.Errorf("event %d: %v, want ErrNotFound", to+1, err)
	}
	var was *eventstore.PastError
	if _, err := p.Append(t.Context()); !errors.As(err, &was) || was.Seq != to {
		t.Errorf("Append: %v, want a PastError at %d", err, to)
	}
	patient, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if _, err := p.Wait(patient, to+1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for event %d: %v, want no result", to+1, err)
	}
}

// A range must lie within the log.
func TestPlayerRefusesRanges(t *testing.T) {
	t.Parallel()
	log := team(t)
	head := headOf(t, log)
	for _, r := range [][2]int64{{0, 1}, {1, head + 1}, {5, 4}, {head + 1, head + 1}} {
		var wrong *RangeError
		if _, err := Open(t.Context(), Options{Log: log, Rules: rules, Dir: t.TempDir(), From: r[0], To: r[1]}, nil); !errors.As(err, &wrong) || wrong.Head != head {
			t.Errorf("%v of %d events: %v, want a RangeError", r, head, err)
		}
	}
}

// served is the API over a player.
type served struct {
	*Player
	api *monitor.Server
	url string
}

func serve(t testing.TB, p *Player) *served {
	t.Helper()
	s := &served{Player: p, api: monitor.New(monitor.Options{Store: p, Rules: rules, Now: p.Now, MilestoneInterval: -1})}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.api.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	web := httptest.NewServer(p.ReadOnly(s.api.Handler()))
	t.Cleanup(web.Close)
	s.url = web.URL
	return s
}

func (s *served) ask(t testing.TB, method, path, body string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

// A client of /ws receives the events of the range in order, each once, whether it connects early or late, and REST
// says the same.
func TestClientsWatchTheRange(t *testing.T) {
	t.Parallel()
	log := team(t)
	from, to := int64(3), headOf(t, log)-1
	s := serve(t, open(t, Options{Log: log, From: from, To: to, Speed: 200}))
	var want []int64
	for seq := from; seq <= to; seq++ {
		want = append(want, seq)
	}
	early := s.listen(t, "/ws?scope=all")
	played := playing(t, s.Player)
	if got := early.events(t, to); !slices.Equal(got, want) {
		t.Errorf("an early client received %v, want %v", got, want)
	}
	played()
	if got := s.listen(t, "/ws?scope=all&since=2").events(t, to); !slices.Equal(got, want) {
		t.Errorf("a late client received %v, want %v", got, want)
	}
	response, body := s.ask(t, http.MethodGet, "/api/events?scope=all&limit=100", "")
	var list struct{ Events []struct{ Seq int64 } }
	if err := json.Unmarshal([]byte(body), &list); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v: %.300s", response.Status, err, body)
	}
	if asOf := response.Header.Get("X-As-Of-Seq"); len(list.Events) != int(to) || asOf == "" {
		t.Errorf("%d events as of %s, want %d", len(list.Events), asOf, to)
	}
	for _, e := range list.Events {
		if e.Seq > to {
			t.Errorf("event %d was sent before it happened", e.Seq)
		}
	}
	if response, body := s.ask(t, http.MethodGet, "/api/health", ""); response.StatusCode != http.StatusOK || !strings.Contains(body, s.Now().UTC().Format("2006-01-02T15:04:05")) {
		t.Errorf("health: %s %.200s; want the time of the current event", response.Status, body)
	}
}

// Every write is refused.
func TestPlayerIsReadOnly(t *testing.T) {
	t.Parallel()
	log := team(t)
	to := headOf(t, log)
	s := serve(t, open(t, Options{Log: log, From: to, To: to}))
	playing(t, s.Player)()
	for _, c := range []struct{ method, path string }{
		{http.MethodPost, "/api/approvals/x/approve"}, {http.MethodPatch, "/api/work-sessions/ws_team/category"}, {http.MethodDelete, "/api/work-sessions/ws_team/category"},
		{http.MethodPost, "/api/workspace-file"}, {http.MethodPost, "/api/work/x/cancel"}, {http.MethodPut, "/nowhere"}, {"BREW", "/api/events"},
	} {
		response, body := s.ask(t, c.method, c.path, `{"collabCategory":"infra_ops"}`)
		if response.StatusCode != http.StatusMethodNotAllowed || !strings.Contains(body, `"code":"past"`) || response.Header.Get("Allow") == "" {
			t.Errorf("%s %s: %s %.200s; want 405 with code past", c.method, c.path, response.Status, body)
		}
	}
	for _, path := range []string{"/api/milestones", "/api/milestones/1"} {
		if response, body := s.ask(t, http.MethodGet, path, ""); response.StatusCode != http.StatusBadRequest || !strings.Contains(body, "as_of_not_supported") {
			t.Errorf("%s: %s %.200s; want 400", path, response.Status, body)
		}
	}
	if head := headOf(t, log); head != to {
		t.Errorf("the log has %d events, had %d", head, to)
	}
}

// listener is a client of /ws.
type listener struct{ *websocket.Conn }

func (s *served) listen(t testing.TB, path string) *listener {
	t.Helper()
	conn, response, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(s.url, "http")+path, nil)
	if err != nil {
		t.Fatalf("connect to %s: %v", path, err)
	}
	_ = response.Body.Close()
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &listener{conn}
}

// events reads frames until the event last was received, and returns the seqs of all.
func (l *listener) events(t testing.TB, last int64) (seqs []int64) {
	t.Helper()
	for len(seqs) == 0 || seqs[len(seqs)-1] < last {
		var frame struct {
			Data struct{ Events []struct{ Seq int64 } }
		}
		if err := l.ReadJSON(&frame); err != nil {
			t.Fatalf("after %v: %v", seqs, err)
		}
		for _, e := range frame.Data.Events {
			seqs = append(seqs, e.Seq)
		}
	}
	return seqs
}
