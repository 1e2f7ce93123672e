package monitor_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/redaction"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/redactions"
)

// redactions stores two redactions, the first of which is over.
func (b *testBundle) redactions(t testing.TB) {
	t.Helper()
	for _, e := range []struct {
		id, typ string
		data    any
	}{
		{"r1", coordination.TypeLogRedacted, coordination.LogRedacted{RedactionID: "r1", Seqs: []int64{3, 5}, Reason: "told by mistake", By: "민수"}},
		{"r2", coordination.TypeLogRedacted, coordination.LogRedacted{RedactionID: "r2", Seqs: []int64{9}}},
		{"r1", coordination.TypeLogForgotten, coordination.LogForgotten{RedactionID: "r1", Projections: []string{"index"}, Lines: 2, Files: 1,
			Kept: []coordination.RedactionTrace{{Place: "backups/a.db", Hint: "remove it"}}}},
		{"r2", coordination.TypeLogRedacted, coordination.LogRedacted{RedactionID: "r2", Seqs: []int64{7, 9}}},
	} {
		data, err := json.Marshal(e.data)
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.db.Append(context.Background(), eventstore.StreamAppend{Stream: redactions.Streams + e.id, Events: []eventstore.NewEvent{{Type: e.typ, Data: data}}})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// fakeRedactions is what redacts in tests: it says what it was asked.
type fakeRedactions struct {
	asked *redaction.Order
	takes time.Duration // to look through the log
}

func (o *fakeRedactions) Find(_ context.Context, order *redaction.Order) (*redaction.Plan, error) {
	o.asked = order
	if o.takes > 0 {
		<-time.After(o.takes)
	}
	switch order.Text {
	case "nowhere":
		return nil, &redaction.Refusal{Reason: "nothing_to_redact", Field: "text", Text: "No event contains that text"}
	case "no such event":
		return nil, &redaction.Refusal{Reason: "not_found", Field: "seqs", Text: "There is no event 99", Unknown: true}
	case "no room":
		return nil, &redaction.Refusal{Reason: "no_room", Text: "Too little room", NoRoom: true}
	}
	return &redaction.Plan{Matches: []redaction.Match{{Seq: 7, Type: "a2a.send", AgentID: "eden", Field: "message"}},
		Refused: []redaction.Refused{}, Kept: []coordination.RedactionTrace{}, Seq: 9}, nil
}

func (o *fakeRedactions) Redact(ctx context.Context, order *redaction.Order) (string, *redaction.Plan, error) {
	plan, err := o.Find(ctx, order)
	return "r2", plan, err
}

func (o *fakeRedactions) Progress(string) (redaction.Progress, bool) {
	return redaction.Progress{Step: "projections", Done: 3, Total: 9}, true
}

func TestRedactionsAsTheyStand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.redactions(t)
	list := get[struct{ Redactions []redactions.Redaction }](t, b, "/api/redactions", http.StatusOK)
	if len(list.Redactions) != 2 || list.Redactions[0].ID != "r2" || list.Redactions[0].State != redactions.Pending ||
		!cmp.Equal(list.Redactions[0].Seqs, []int64{7, 9}) || list.Redactions[1].State != redactions.Forgotten || list.Redactions[1].By != "민수" ||
		list.Redactions[1].Lines != 2 || len(list.Redactions[1].Kept) != 1 || list.Redactions[1].ForgottenSeq == nil {
		t.Errorf("%+v", list)
	}
}

// What an order says is what is asked, whatever its shape; what makes no sense is refused, and no one is asked.
func TestRedactionOrders(t *testing.T) {
	t.Parallel()
	o := &fakeRedactions{}
	b := setup(t, func(opts *monitor.Options) { opts.Redactions = o })
	b.redactions(t)
	for name, tc := range map[string]struct {
		body   string
		status int
		code   string
		want   *redaction.Order
	}{
		"events":        {`{"seqs":[7,9],"ids":["x"],"only":true,"reason":"r","by":"민수"}`, 200, "", &redaction.Order{Seqs: []int64{7, 9}, IDs: []string{"x"}, Only: true, Reason: "r", By: "민수"}},
		"a text, dry":   {`{"text":"비밀","dryRun":true}`, 200, "", &redaction.Order{Text: "비밀", By: "api"}},
		"nothing":       {`{"text":"nowhere"}`, 400, "nothing_to_redact", nil},
		"no such":       {`{"text":"no such event"}`, 404, "not_found", nil},
		"no room":       {`{"text":"no room"}`, 507, "no_room", nil},
		"a bad seq":     {`{"seqs":[1.5]}`, 400, "invalid_parameter", nil},
		"no list":       {`{"seqs":7}`, 400, "invalid_parameter", nil},
		"another field": {`{"seq":7}`, 400, "invalid_parameter", nil},
		"no body":       {``, 400, "invalid_body", nil},
		"a bad name":    {`{"seqs":[7],"by":"a\nb"}`, 400, "invalid_parameter", nil},
	} {
		o.asked = nil
		response, answer := b.send(t, http.MethodPost, "/api/redactions", tc.body)
		status := response.StatusCode
		var said struct {
			Code      string
			DryRun    bool
			Count     int
			Redaction *redactions.Redaction
		}
		if err := json.Unmarshal(answer, &said); err != nil || status != tc.status || said.Code != tc.code {
			t.Errorf("%s: %d %s, %v; want %d %s", name, status, answer, err, tc.status, tc.code)
		}
		if tc.want == nil {
			continue
		}
		if diff := cmp.Diff(tc.want, o.asked); diff != "" {
			t.Errorf("%s: asked otherwise: %s", name, diff)
		}
		if said.Count != 1 || said.DryRun != strings.Contains(tc.body, "dryRun") || said.DryRun == (said.Redaction != nil) {
			t.Errorf("%s: %s", name, answer)
		}
	}
	if one := get[redactions.Redaction](t, b, "/api/redactions/r2", http.StatusOK); one.Progress == nil || one.Progress.Step != "projections" {
		t.Errorf("%+v: want how far it is", one)
	}
	if response, answer := setup(t).send(t, http.MethodPost, "/api/redactions", `{"seqs":[7]}`); response.StatusCode != http.StatusConflict {
		t.Errorf("where nothing is redacted: %d %s", response.StatusCode, answer)
	}
}

// However long a log is looked through, the order is answered: the server's own deadline for answers is not that of a redaction.
func TestLongRedactionsAreAnswered(t *testing.T) {
	t.Parallel()
	const deadline = 50 * time.Millisecond
	b := setup(t, func(opts *monitor.Options) { opts.Redactions = &fakeRedactions{takes: 4 * deadline} })
	b.redactions(t)
	s := httptest.NewUnstartedServer(b.monitor.Handler())
	s.Config.WriteTimeout = deadline
	s.Start()
	defer s.Close()
	response, err := http.Post(s.URL+"/api/redactions", "application/json", strings.NewReader(`{"seqs":[7]}`)) //nolint:noctx
	if err != nil {
		t.Fatalf("%v: want an answer, though it takes longer than others may", err)
	}
	defer response.Body.Close()
	var said struct{ Count int }
	if err := json.NewDecoder(response.Body).Decode(&said); err != nil || response.StatusCode != http.StatusOK || said.Count != 1 {
		t.Errorf("%s %+v, %v", response.Status, said, err)
	}
}
