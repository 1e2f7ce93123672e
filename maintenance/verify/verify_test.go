package verify_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/maintenance/verify"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// newLog is an empty log with live tables.
func newLog(t *testing.T) *sqlite.DB {
	t.Helper()
	log, err := database.OpenToWrite(t.Context(), filepath.Join(t.TempDir(), database.Name), "test", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := projections.Start(t.Context(), log, database.Projections(coordination.RulesV2), projections.Options{Rules: coordination.RulesV2, Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	return log
}

// says appends a message of an agent to another one.
func says(t *testing.T, log *sqlite.DB, stream, typ string, actor eventstore.Actor, data any) {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), eventstore.StreamAppend{Stream: stream,
		Events: []eventstore.NewEvent{{Type: typ, AgentID: "eden", TS: 1_771_588_800_000, Actor: actor, Data: text}}}); err != nil {
		t.Error(err)
	}
}

type said struct {
	From      string `json:"fromAgent"`
	To        string `json:"toAgent"`
	Message   string `json:"message"`
	EventRole string `json:"eventRole"`
}

func message(text string) said { return said{"eden", "seum", text, "conversation.main"} }

// Tables are compared as of one moment of a log that is being appended to.
//
// Promise: verify
func TestTablesOfALogThatGrowsAreProved(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	for range 50 {
		says(t, log, "agent/eden", coordination.TypeA2ASend, eventstore.ActorAgent, message("before"))
	}
	done := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				says(t, log, "agent/eden", coordination.TypeA2ASend, eventstore.ActorAgent, message("meanwhile"))
			}
		}
	})
	report, err := verify.Run(t.Context(), verify.Options{Log: log, Rules: coordination.RulesV2, Now: time.Now, Alone: "alone"})
	close(done)
	writing.Wait()
	if err != nil || !report.OK {
		t.Fatalf("of a log that grows: %v, %+v", err, report.Parts)
	}
	states := map[verify.Part]verify.State{}
	for _, o := range report.Parts {
		states[o.Part] = o.State
	}
	if states[verify.Chain] != verify.OK || states[verify.Tables] != verify.OK || states[verify.Mirror] != verify.Skipped {
		t.Errorf("parts %v, want chain and tables verified and the mirror left out", states)
	}
}

// Read models that a killed server has left behind are compared where they stand.
//
// Promise: verify
func TestTablesLeftBehindAreProvedWhereTheyStand(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	says(t, log, "agent/eden", coordination.TypeA2ASend, eventstore.ActorAgent, message("before"))
	if _, err := projections.Start(t.Context(), projectiontest.Unwritten{DB: log}, database.Projections(coordination.RulesV2),
		projections.Options{Rules: coordination.RulesV2, Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		says(t, log, "agent/eden", coordination.TypeA2ASend, eventstore.ActorAgent, message("never written"))
	}
	beside, err := database.OpenToRead(t.Context(), log.Path(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close()
	o := verify.Options{Log: beside, Rules: coordination.RulesV2, Now: time.Now, Only: []verify.Part{verify.Chain, verify.Tables}}
	report, err := verify.Run(t.Context(), o)
	if err != nil || !report.OK {
		t.Fatalf("of tables that are behind: %v, %+v", err, report.Parts)
	}
	if out := report.Parts[2]; out.Counts["projections"] != int64(len(database.Projections(coordination.RulesV2))) || len(out.Notes) != 2 {
		t.Errorf("%+v", out)
	}
	change(t, log.Path(), "DELETE FROM event_index")
	var refuted *verify.RefutedError
	if _, err := verify.Run(t.Context(), o); !errors.As(err, &refuted) || refuted.Code() != "tables_differ" {
		t.Errorf("of tables that lack a row: %v", err)
	}
}

// change changes a file as another program would.
func change(t *testing.T, path, statement string) {
	t.Helper()
	file, err := sqlite.OpenPlain(path, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// Until a redaction is finished tables cannot be verified, and that is not reported as damage.
func TestUnfinishedRedactionKeepsTablesFromBeingProved(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	says(t, log, "agent/eden", coordination.TypeA2ASend, eventstore.ActorAgent, message("secret"))
	says(t, log, "redaction/r1", coordination.TypeLogRedacted, eventstore.ActorHuman, coordination.LogRedacted{
		Context: coordination.Context{EventRole: coordination.RoleObservability}, RedactionID: "r1", Seqs: []int64{1}, Reason: "told", By: "wooin"})
	o := verify.Options{Log: log, Rules: coordination.RulesV2, Now: time.Now}
	report, err := verify.Run(t.Context(), o)
	var pending *verify.PendingError
	if !errors.As(err, &pending) || pending.ID != "r1" || report.OK {
		t.Errorf("error %v, want a *PendingError of r1", err)
	}
	o.Only = []verify.Part{verify.Chain}
	if report, err := verify.Run(t.Context(), o); err != nil || !report.OK {
		t.Errorf("the chain alone: %v", err)
	}
}
