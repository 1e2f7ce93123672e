package monitor_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
)

// tell stores events in the stream of a run or an effect.
func (b *testBundle) tell(t testing.TB, stream, agent string, events ...[2]string) {
	t.Helper()
	var list []eventstore.NewEvent
	for _, e := range events {
		list = append(list, eventstore.NewEvent{Type: e[0], AgentID: agent, Data: json.RawMessage(e[1])}.WithTS(noon.UnixMilli()))
	}
	if _, err := b.db.Append(context.Background(), eventstore.StreamAppend{Stream: stream, Events: list}); err != nil {
		t.Fatal(err)
	}
}

// asks queues a run, and lets it begin and end where it is told to.
func (b *testBundle) asks(t testing.TB, id, agent, then string) {
	t.Helper()
	key := "agent:" + agent + ":main"
	ids := fmt.Sprintf(`"runId":%q,"sessionKey":%q`, id, key)
	events := [][2]string{{coordination.TypeRunQueued, `{` + ids + `,"lane":"main","cause":"agent","message":"hello"}`}}
	if then != "" {
		events = append(events, [2]string{coordination.TypeRunStarted,
			fmt.Sprintf(`{%s,"sessionId":"s","startedAtMs":%d,"model":"fake/m"}`, ids, noon.UnixMilli()+5)})
	}
	if then != "" && then != coordination.TypeRunStarted {
		events = append(events, [2]string{then,
			fmt.Sprintf(`{%s,"startedAtMs":%d,"endedAtMs":%d,"provider":"fake","model":"m","modelCalls":2}`, ids, noon.UnixMilli()+5, noon.UnixMilli()+9)})
	}
	b.tell(t, coordination.RunStream(id), agent, events...)
}

type runPage struct {
	Runs []struct {
		RunID, State, SessionKey, Provider string
		StartedAt, EndedAt                 *int64
		ModelCalls                         int
	}
	Count      int
	States     map[string]int64
	NextCursor *string
}

func (p *runPage) ids() (ids []string) {
	for _, r := range p.Runs {
		ids = append(ids, r.RunID)
	}
	return ids
}

// Runs are listed from the newest to the oldest, page by page, and by session, agent and state; the states are counted over all.
func TestRunsAreListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.asks(t, "one", "eden", coordination.TypeRunEnded)
	b.asks(t, "two", "seum", coordination.TypeRunFailed)
	b.asks(t, "three", "eden", coordination.TypeRunStarted)
	b.asks(t, "four", "eden", "")
	page := get[runPage](t, b, "/api/runs?limit=3", http.StatusOK)
	if !slices.Equal(page.ids(), []string{"four", "three", "two"}) || page.NextCursor == nil {
		t.Fatalf("first page: %+v", page)
	}
	if page.States["queued"] != 1 || page.States["running"] != 1 || page.States["ok"] != 1 || page.States["error"] != 1 || page.States["aborted"] != 0 {
		t.Errorf("states: %v", page.States)
	}
	if r := page.Runs[2]; r.StartedAt == nil || r.EndedAt == nil || r.Provider != "fake" || r.ModelCalls != 2 || page.Runs[0].StartedAt != nil {
		t.Errorf("runs: %+v", page.Runs)
	}
	if page = get[runPage](t, b, "/api/runs?limit=3&cursor="+*page.NextCursor, http.StatusOK); !slices.Equal(page.ids(), []string{"one"}) || page.NextCursor != nil {
		t.Errorf("second page: %+v", page)
	}
	for query, want := range map[string][]string{
		"session=agent:seum:main":         {"two"},
		"agent=eden&state=ok":             {"one"},
		"state=queued,running":            {"four", "three"},
		"agent=stranger":                  nil,
		"state=aborted&agent=eden":        nil,
		"state=ok&state=error":            {"two", "one"},
		"session=agent:eden:main&limit=1": {"four"},
	} {
		if page := get[runPage](t, b, "/api/runs?"+query, http.StatusOK); !slices.Equal(page.ids(), want) {
			t.Errorf("%s: %v, want %v", query, page.ids(), want)
		}
	}
}

// A cursor is one that was given, of the same list.
func TestCursorsOfRunsAndWorkAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, place := range []string{"", "r", "r.0", "r.-1", "r.x", "r.1.2", "r.9223372036854775807", "r.9223372036854775808", "e.1", "w.0", "w.-1", "w.9223372036854775808"} {
		for path, list := range map[string]string{"/api/runs": "r", "/api/work": "w"} {
			if cursor := base64.RawURLEncoding.EncodeToString([]byte(place)); cursor != "" {
				get[any](t, b, path+"?cursor="+cursor, http.StatusBadRequest)
			}
			get[any](t, b, path+"?cursor="+base64.RawURLEncoding.EncodeToString([]byte(list+".9223372036854775806")), http.StatusOK)
		}
	}
}

type workPage struct {
	Lanes []monitor.LaneState
	Items []struct {
		EffectID, Kind, Key, State, Error string
		Attempt                           int
	}
	NextCursor *string
}

// What waits, is under way and was given up is told by lane and agent, in the list and in the status, and listed page by page.
func TestWorkIsListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.asks(t, "one", "eden", coordination.TypeRunStarted)
	b.asks(t, "two", "eden", "")
	b.asks(t, "three", "seum", "")
	mail := func(typ, more string) [2]string { return [2]string{typ, `{"effectId":"mail/42"` + more + `}`} }
	b.tell(t, coordination.WorkStream("mail/42"), "eden", mail(coordination.TypeWorkScheduled, `,"kind":"mail","key":"box","pool":"post","owner":"eden"`),
		mail(coordination.TypeWorkLeased, `,"attempt":1`), mail(coordination.TypeWorkDead, `,"attempt":1,"error":"no such box"`))
	b.now.Add(2_000)
	page := get[workPage](t, b, "/api/work?limit=3", http.StatusOK)
	want := []monitor.LaneState{{Lane: "main", Owner: "eden", Waiting: 1, Running: 1, OldestMs: 2_000}, {Lane: "main", Owner: "seum", Waiting: 1, OldestMs: 2_000},
		{Lane: "post", Owner: "eden", Dead: 1}}
	if !slices.Equal(page.Lanes, want) {
		t.Errorf("lanes: %+v", page.Lanes)
	}
	if len(page.Items) != 3 || page.Items[0].EffectID != "run/one" || page.Items[0].State != "leased" || page.NextCursor == nil {
		t.Fatalf("first page: %+v", page)
	}
	if page = get[workPage](t, b, "/api/work?limit=3&cursor="+*page.NextCursor, http.StatusOK); len(page.Items) != 1 || page.NextCursor != nil {
		t.Errorf("second page: %+v", page)
	}
	page = get[workPage](t, b, "/api/work?state=dead", http.StatusOK)
	if len(page.Items) != 1 || page.Items[0].EffectID != "mail/42" || page.Items[0].Error != "no such box" || page.Items[0].Attempt != 1 {
		t.Errorf("dead: %+v", page.Items)
	}
	if page = get[workPage](t, b, "/api/work?kind=run&owner=seum&key=agent:seum:main&state=waiting", http.StatusOK); len(page.Items) != 1 {
		t.Errorf("filtered: %+v", page.Items)
	}
	status := get[struct{ Work monitor.WorkState }](t, b, "/api/status", http.StatusOK).Work
	if !slices.Equal(status.Lanes, want) || status.Dead != 1 || status.Runs["queued"] != 2 || status.Runs["running"] != 1 {
		t.Errorf("status: %+v", status)
	}
}

// operator notes what is asked of it, and refuses it.
type operator struct {
	asked   []string
	refusal error
}

func (o *operator) Resend(_ context.Context, id, by string) error { return o.note("resend", id, by) }
func (o *operator) Cancel(_ context.Context, id, by string) error { return o.note("cancel", id, by) }

func (o *operator) note(what, id, by string) error {
	o.asked = append(o.asked, what+" "+id+" by "+by)
	return o.refusal
}

// Who may write settles what was given up. The id comes through as it is, and a refusal has its reason.
func TestWorkIsSettled(t *testing.T) {
	t.Parallel()
	o := &operator{}
	b := setup(t, func(opts *monitor.Options) { opts.Work = o })
	const near = "127.0.0.1:1"
	for _, c := range []struct {
		path    string
		refusal error
		status  int
	}{
		{"/api/work/mail%2F42/resend", nil, 200},
		{"/api/work/mail/42/cancel", nil, 200},
		{"/api/work/run%2Fa%20b%2Fresend/cancel", nil, 200},
		{"/api/work/x/resend", &work.Refusal{Reason: work.CodeUnknown, Text: "no", HintText: "m"}, 404},
		{"/api/work/x/resend", &work.Refusal{Reason: work.CodeUnderWay, Text: "no", HintText: "m"}, 409},
		{"/api/work/x/resend", fmt.Errorf("read: %w", context.DeadlineExceeded), 500},
		{"/api/work/%20/resend", nil, 404},
	} {
		o.refusal = c.refusal
		if answer := b.from(near, http.MethodPost, c.path, ""); answer.Code != c.status {
			t.Errorf("%s: %d %s, want %d", c.path, answer.Code, answer.Body, c.status)
		}
	}
	want := []string{"resend mail/42 by api", "cancel mail/42 by api", "cancel run/a b/resend by api", "resend x by api", "resend x by api", "resend x by api"}
	if !slices.Equal(o.asked, want) {
		t.Errorf("asked %q", o.asked)
	}
	if answer := b.from("192.0.2.7:1", http.MethodPost, "/api/work/x/cancel", ""); answer.Code != http.StatusUnauthorized || len(o.asked) != len(want) {
		t.Errorf("from afar: %d, asked %q", answer.Code, o.asked)
	}
}
