package monitor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
)

func TestMinSeqWaitsForTheLog(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) { o.MaxWait = time.Minute })
	seq := b.appending(t, "a2a.send", `{"toAgent":"ruda"}`)
	page := make(chan eventPage)
	go func() {
		var p eventPage
		_ = json.Unmarshal(b.direct("/api/events", fmt.Sprintf("min_seq=%d", seq+1)).Body.Bytes(), &p)
		page <- p
	}()
	b.appending(t, "a2a.response", `{"toAgent":"main"}`)
	if got := <-page; got.AsOfSeq < seq+1 || got.Count != 2 {
		t.Errorf("answer as of %d with %d events; %d was asked for", got.AsOfSeq, got.Count, seq+1)
	}
	response, _ := b.ask(t, http.MethodGet, "/api/work-sessions?min_seq=2")
	if got := response.Header.Get("X-As-Of-Seq"); got != "2" {
		t.Errorf("X-As-Of-Seq is %q", got)
	}
	response, _ = b.ask(t, http.MethodGet, "/api/work-sessions/ws_missing?min_seq=2")
	if got := response.Header.Get("X-As-Of-Seq"); got != "2" {
		t.Errorf("X-As-Of-Seq of what is missing is %q", got)
	}
}

func TestMinSeqThatDoesNotComeIsRefused(t *testing.T) {
	t.Parallel()
	b := smallLog(t)
	for _, path := range []string{"/api/events", "/api/work-sessions", "/api/work-sessions/ws_a", "/api/categories", "/api/health"} {
		response, body := b.ask(t, http.MethodGet, path+"?min_seq=1000")
		var r refusal
		if err := json.Unmarshal(body, &r); err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != http.StatusServiceUnavailable || r.Code != "behind" || r.Field != "min_seq" || response.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", path, response.StatusCode, body)
		}
	}
}

func TestParkedProjectionIsNamed(t *testing.T) {
	t.Parallel()
	b := smallLog(t)
	park := func(tx eventstore.Tx) error {
		_, err := tx.Exec(`UPDATE projections SET state = 'parked', seq = 2, parked_seq = 3, parked_error = 'defect', parked_at = 1
 WHERE name = 'conversation'`)
		return err
	}
	if err := b.db.Exclusive(context.Background(), park, nil); err != nil {
		t.Fatal(err)
	}
	r := get[refusal](t, b, "/api/events?min_seq=3", http.StatusServiceUnavailable)
	if r.Code != "behind" || !strings.Contains(r.Error, "conversation is parked and stands at 2") {
		t.Errorf("refused with %+v", r)
	}
	h := get[struct {
		Status, Timestamp              string
		Seq, AsOfSeq, Events, BadLines int64
		Projections                    []struct{ Name, State string }
	}](t, b, "/api/health", http.StatusOK)
	if h.Status != "degraded" || h.Seq != 6 || h.AsOfSeq != 2 || h.Timestamp != "2026-02-20T12:00:00.000Z" || len(h.Projections) != 13 {
		t.Errorf("health is %+v", h)
	}
}
