package monitor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/continuations"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/permissions"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/schedules"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

func TestMain(m *testing.M) {
	testscale.Checks(25, 40)
	goleak.VerifyTestMain(m)
}

// noon is when most test logs begin; minutes in them count from there.
var noon = time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)

func at(minute float64) float64 { return float64(noon.UnixMilli()) + minute*60_000 }

// testBundle is a real server on a real file.
type testBundle struct {
	db      *sqlite.DB
	monitor *monitor.Server
	url     string
	now     atomic.Int64 // ms; what the server's clock shows
}

func definitions() []projections.Definition {
	rules := coordination.RulesV2
	return []projections.Definition{conversations.Routes(rules), runs.Definition(), workqueue.Definition(), flows.Definition(), tasks.Definition(), continuations.Definition(), schedules.Definition(),
		permissions.Definition(), plans.Definition(), routing.Definition(), responses.Definition(), index.Definition(rules), conversations.Definition(rules)}
}

// setup serves an empty log. The clock stands at noon.
func setup(t testing.TB, change ...func(*monitor.Options)) *testBundle {
	t.Helper()
	return setupWith(t, definitions(), change...)
}

// setupWith is setup with other projections.
func setupWith(t testing.TB, tables []projections.Definition, change ...func(*monitor.Options)) *testBundle {
	t.Helper()
	db, _ := projectiontest.New(t, sqlite.Options{Now: func() time.Time { return noon }}, tables...)
	b := &testBundle{db: db}
	b.now.Store(noon.UnixMilli())
	opts := monitor.Options{Store: db, Rules: coordination.RulesV2, Now: func() time.Time { return time.UnixMilli(b.now.Load()) }, Version: "test",
		MaxWait: 50 * time.Millisecond}
	for _, c := range change {
		c(&opts)
	}
	b.monitor = monitor.New(opts)
	s := httptest.NewServer(b.monitor.Handler())
	t.Cleanup(s.Close)
	b.url = s.URL
	return b
}

// importing brings lines into the log as an import of a file with them would.
func (b *testBundle) importing(t testing.TB, lines ...string) {
	t.Helper()
	im := ndjson.New(ndjson.Options{Log: b.db,
		Stream: func(typ, agentID string, data, original []byte) string {
			r := coordination.ReadRecord(coordination.RulesV2, typ, agentID, 0, 0, data, original)
			return coordination.StreamOf(&r)
		},
		Reject: func(file string, line int64, r ndjson.Rejection) (string, json.RawMessage) {
			return coordination.TypeImportRejected, fmt.Appendf(nil, `{"file":%q,"line":%d,"eventRole":"system.observability"}`, file, line)
		},
	})
	if _, err := im.Import(context.Background(), strings.NewReader(strings.Join(lines, "\n")+"\n"), "test.ndjson"); err != nil {
		t.Fatal(err)
	}
}

// appending stores an event of our own.
func (b *testBundle) appending(t testing.TB, typ, data string) int64 {
	t.Helper()
	r, err := b.db.Append(context.Background(), eventstore.StreamAppend{Stream: "test/own",
		Events: []eventstore.NewEvent{{Type: typ, AgentID: "main", Data: json.RawMessage(data)}}})
	if err != nil {
		t.Fatal(err)
	}
	return r.Seq
}

// event is a line of a log: the members of data are given without braces.
func event(typ, agent string, minute float64, data string) string {
	return fmt.Sprintf(`{"type":%q,"agentId":%q,"ts":%.0f,"data":{%s}}`, typ, agent, at(minute), data)
}

// get asks and decodes the answer, which must have the given status, into a T.
func get[T any](t testing.TB, b *testBundle, path string, status int) T {
	t.Helper()
	var into T
	response, body := b.ask(t, http.MethodGet, path)
	if response.StatusCode != status {
		t.Fatalf("GET %s: status %d, want %d: %.400s", path, response.StatusCode, status, body)
	}
	if err := json.Unmarshal(body, &into); err != nil {
		t.Fatalf("GET %s: %v in %.400s", path, err, body)
	}
	return into
}

func (b *testBundle) ask(t testing.TB, method, path string) (*http.Response, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, b.url+path, nil)
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
	return response, body
}

type eventPage struct {
	Events []struct {
		Type           string
		Seq            int64
		ID             string
		From, To       string
		Time           float64
		TimeSource     string
		EventRole      string
		CollabCategory string
		DisplayText    string
		State, Reason  string
		DisplayParts   json.RawMessage
		ReasonCode     string
		Redacted       bool
		Data           map[string]any
	}
	Count          int
	Total          int64
	TotalMatched   int64
	Role           *string
	Type           []string
	ViewCategory   *string
	CategoryCounts map[string]int64
	NextCursor     *string
	NextAfter      int64
	AsOfSeq        int64
}

func (p eventPage) seqs() []int64 {
	seqs := []int64{}
	for i := range p.Events {
		seqs = append(seqs, p.Events[i].Seq)
	}
	return seqs
}

type extent struct {
	StartTime, LastTime, DurationMs float64
	ThreadCount, EventCount         int64
}

type workSession struct {
	extent
	ID, WorkSessionID, Status string
	CollabCategory            string
	CollabSubTags             []string
	CategorySource            string
	VotedCategory             string
	UpdatedAt, UpdatedBy      string
	RoleCounts                map[string]int64
	ReasonCode                string
	Threads                   []struct {
		ID, ConversationID  string
		FromAgent, ToAgent  string
		StartTime, LastTime float64
		EventCount          int64
		Events              []struct{ Seq int64 }
		CollabCategory      string
		Outcome             *string
		Open                bool
		Reason              *string
		ReasonCode          string
		DisplayText         string
	}
	Totals       extent
	Title        string
	Summary      string
	Participants []conversations.Participant
	Outcome      string
	BlockedReason,
	PreviousWorkSessionID, NextWorkSessionID *string
	LastMessage *struct {
		From, Text, Type string
		To               *string
		Time             float64
		Seq              int64
	}
	OpenThreads, OpenTasks, BlockedTasks, OpenFlows, OpenRuns int64
	CategoryLabel                                             string
	EventsTruncated                                           bool
}

type sessionPage struct {
	Sessions       []workSession
	Count          int
	TotalMatched   int64
	TotalSessions  int64
	Role           []string
	Type           []string
	Status         []string
	ViewCategory   *string
	SubTag         *string
	CategoryCounts map[string]int64
	NextCursor     *string
}

func (p sessionPage) names() []string {
	names := []string{}
	for i := range p.Sessions {
		names = append(names, p.Sessions[i].WorkSessionID)
	}
	return names
}

type detail struct {
	Session workSession
	Role    *string
	Type    []string
}

type refusal struct{ Error, Code, Field, Hint string }
