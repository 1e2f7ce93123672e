package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination/snapshot"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/causality"
	"github.com/pronto-lab/openclawd/projections/compare"
	"github.com/pronto-lab/openclawd/projections/points"
)

// replays is a monitor.Replay whose log ends at event 7: what it is asked is recorded, and answered as the test says. How the real one answers is
// tested where it is: server, and cmd/openclawd against the commands.
type replays struct {
	diff    monitor.DiffQuery
	steps   monitor.StepsQuery
	asked   int
	pending *monitor.Pending
	err     error
}

type unknownPoint string

func (u unknownPoint) Error() string { return string(u) + ": not a point in the log" }
func (unknownPoint) Code() string    { return "no_such_point" }
func (unknownPoint) Hint() string    { return "give a seq" }

func (r *replays) Resolve(_ context.Context, point string) (points.Point, error) {
	var seq int64
	if point == "head" {
		point = "7"
	}
	if _, err := fmt.Sscanf(point, "%d", &seq); err != nil || seq > 7 {
		return points.Point{}, unknownPoint(point)
	}
	return points.Point{Seq: seq, RecordedAt: seq * 1_000}, nil
}

func (r *replays) Before(_ context.Context, at time.Time) (points.Point, error) {
	seq := min(7, at.UnixMilli()/1_000)
	return points.Point{Seq: seq, RecordedAt: seq * 1_000}, nil
}

func (r *replays) Happened(_ context.Context, at time.Time) (points.Point, error) {
	return r.Before(context.Background(), at.Add(time.Second))
}

func (r *replays) TimeOf(_ context.Context, seq int64) (int64, error) { return seq * 999, nil }

func (r *replays) Diff(_ context.Context, q monitor.DiffQuery) (*points.BoundedDiff, *monitor.Pending, error) {
	r.diff = q
	r.asked++
	if r.pending != nil || r.err != nil {
		return nil, r.pending, r.err
	}
	return &points.BoundedDiff{Diff: points.Diff{From: points.Point{Seq: q.From}, To: points.Point{Seq: q.To},
		Tables: []compare.Count{{Projection: "task", Table: "tasks", Rows: 2, Added: 1, Removed: 1, Changed: 1}},
		Rows: []compare.Change{{Projection: "task", Table: "tasks", Kind: compare.Changed, Key: []compare.Column{{Name: "id", Before: int64(1), After: int64(1)}},
			Columns: []compare.Column{{Name: "state", After: "blocked"}, {Name: "weight", Before: 0.5, After: nil}}}}},
		Subjects: []points.Subject{{Table: "tasks", Key: 1, ID: "task_1", AgentID: "eden", Text: "배포"}}}, nil, nil
}

func (r *replays) Steps(_ context.Context, q monitor.StepsQuery) (*points.Steps, *monitor.Pending, error) {
	r.steps = q
	r.asked++
	if r.pending != nil || r.err != nil {
		return nil, r.pending, r.err
	}
	next := q.At + 1
	step := points.Step{Event: points.EventOf(&eventstore.Event{Seq: q.At, Type: "task.blocked", Actor: eventstore.ActorAgent, Data: []byte(`{}`)}, "", ""),
		IsError: true, Error: "no key", Causes: []causality.Link{{Seq: 1, Type: "task.started", How: causality.ByStream}}, Effects: []causality.Link{}}
	bounded, _ := step.Bound(points.MaxBytes)
	bounded.Changes = []compare.Change{}
	return &points.Steps{Head: 7, Steps: []points.BoundedStep{bounded}, Next: &next}, nil, nil
}

func (r *replays) Tables() []string { return []string{"tasks", "threads"} }

// setupReplay serves a log of seven events.
func setupReplay(t *testing.T) (*testBundle, *replays) {
	t.Helper()
	r := &replays{}
	b := setup(t, func(o *monitor.Options) { o.Replay = r })
	for range 7 {
		b.appending(t, "a2a.send", `{"toAgent":"ruda","message":"배포","workSessionId":"ws_a"}`)
	}
	return b, r
}

func TestReplayKeepsTheContract(t *testing.T) {
	t.Parallel()
	b, r := setupReplay(t)
	contract := newContract(t, b)
	for _, c := range []struct {
		path   string
		status int
		says   string
	}{
		{"/api/replay/diff?a=1&b=7", 200, `"after":"blocked"`},
		{"/api/replay/diff?a=0&b=head&table=tasks,threads&table=tasks&limit=0", 200, `"cut":false`},
		{"/api/replay/diff?a=1", 400, `"field":"b"`},
		{"/api/replay/diff?b=1", 400, `"field":"a"`},
		{"/api/replay/diff?a=1&b=8", 404, `"field":"b","value":"8"`},
		{"/api/replay/diff?a=" + strings.Repeat("x", 500) + "&b=1", 404, `"code":"no_such_point"`},
		{"/api/replay/diff?a=1&b=2&table=secrets", 400, `"allowed":["tasks","threads"]`},
		{"/api/replay/diff?a=1&b=2&limit=1001", 400, `"field":"limit"`},
		{"/api/replay/diff?a=1&b=2&as_of=3", 400, `"code":"as_of_not_supported"`},
		{"/api/replay/step?at=7&n=50&errors=true", 200, `"error":"no key"`},
		{"/api/replay/step?at=8", 200, `"how":"stream"`},
		{"/api/replay/step?at=9", 404, `"code":"no_such_point"`},
		{"/api/replay/step", 400, `"field":"at"`},
		{"/api/replay/step?at=0", 400, `"field":"at"`},
		{"/api/replay/step?at=1&n=51", 400, `"field":"n"`},
		{"/api/replay/step?at=1&errors=maybe", 400, `"allowed":["false","true"]`},
		{"/api/replay/point?time=1970-01-01T00:00:03.5Z", 200, `{"seq":3,"recordedAt":3000,"ts":2997,"head":{"seq":7,"recordedAt":7000}}`},
		{"/api/replay/point?time=1970-01-01T00:00:04Z", 200, `{"seq":4,`},
		{"/api/replay/point?time=1970-01-01T00:00:04Z&by=event", 200, `{"seq":5,`},
		{"/api/replay/point?time=1970-01-01T00:00:04Z&by=magic", 400, `"allowed":["recorded","event"]`},
		{"/api/replay/point?at=5", 200, `{"seq":5,`},
		{"/api/replay/point?at=yesterday", 404, `"field":"at","value":"yesterday"`},
		{"/api/replay/point", 400, `"field":"time"`},
		{"/api/replay/point?time=2026-02-20&at=5", 400, `"field":"at"`},
		{"/api/replay/point?time=soon", 400, `"field":"time"`},
	} {
		response, body := b.ask(t, http.MethodGet, c.path)
		contract.hold(t, http.MethodGet, c.path, c.status, response, body)
		if !strings.Contains(string(body), c.says) {
			t.Errorf("%s: %s, want %s in it", c.path, body, c.says)
		}
		if c.status == 200 && response.Header.Get("X-As-Of-Seq") != "7" {
			t.Errorf("%s: X-As-Of-Seq is %q, want 7", c.path, response.Header.Get("X-As-Of-Seq"))
		}
	}
	contract.check(t, http.MethodGet, "/api/replay/diff?a=2&b=5&table=threads&limit=3", 200)
	if r.diff.From != 2 || r.diff.To != 5 || r.diff.Limit != 3 || len(r.diff.Tables) != 1 {
		t.Errorf("compared %+v", r.diff)
	}
	r.pending = &monitor.Pending{AsOf: 5, Progress: snapshot.Progress{Done: 2, Total: 5, Before: 1}}
	for _, path := range []string{"/api/replay/diff?a=2&b=5", "/api/replay/step?at=6"} {
		response, body := b.ask(t, http.MethodGet, path)
		contract.hold(t, http.MethodGet, path, 202, response, body)
		if want := `"code":"building","asOf":5,"done":2,"total":5,"before":1}`; !strings.Contains(string(body), want) || response.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s, want %s", path, body, want)
		}
	}
	r.pending = nil
	for err, status := range map[error]int{snapshot.ErrBusy: 503, context.DeadlineExceeded: 503, &eventstore.DiskFullError{}: 507, eventstore.ErrClosed: 503, errors.New("secret"): 500} {
		r.err = err
		for _, path := range []string{"/api/replay/diff?a=2&b=5", "/api/replay/step?at=6"} {
			response, body := b.ask(t, http.MethodGet, path)
			contract.hold(t, http.MethodGet, path, status, response, body)
			if strings.Contains(string(body), "secret") {
				t.Errorf("%s: %s", path, body)
			}
		}
	}
}

// A page of another site has nothing built, as it has no state of the past built.
func TestReplayIsNotForPagesOfOtherSites(t *testing.T) {
	t.Parallel()
	b, r := setupReplay(t)
	for _, path := range []string{"/api/replay/diff?a=1&b=2", "/api/replay/step?at=1", "/api/replay/point?at=1"} {
		for _, header := range [][2]string{{"Origin", "http://elsewhere.example"}, {"Sec-Fetch-Site", "cross-site"}} {
			response := b.from("127.0.0.1:1", http.MethodGet, path, "", header[0], header[1])
			if response.Code != http.StatusForbidden || !strings.Contains(response.Body.String(), "origin_refused") {
				t.Errorf("%s with %v: %d %s, want it refused", path, header, response.Code, response.Body)
			}
		}
	}
	if r.asked != 0 {
		t.Errorf("asked %d times", r.asked)
	}
}
