package projections_test

import (
	"database/sql"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
)

func good(ms int64) eventstore.NewEvent {
	return event("good", ms, map[string]any{"workSessionId": "ws_1"})
}
func bad(ms int64) eventstore.NewEvent {
	return event("bad", ms, map[string]any{"workSessionId": "ws_1"})
}

func TestDecisionTableThatFailsRefusesTheAppend(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			b := setupCounters(t, counter{name: "strict", version: "1", kind: projections.Decision, apply: failsAt(way.how)},
				counter{name: "plain", version: "1", kind: projections.Decision})
			b.append(t, good(0))
			before := b.dump(t)
			_, err := b.Append(t.Context(), to(good(1)), eventstore.StreamAppend{Stream: "other", Events: []eventstore.NewEvent{good(2), bad(3), good(4)}})
			refused := wantAs[*eventstore.RefusedError](t, err)
			if refused.Projection != "strict" || refused.Type != "bad" || refused.Err == nil {
				t.Errorf("refused with %+v", refused)
			}
			wantSame(t, "tables after the refusal", b.dump(t), before)
			b.append(t, good(5))
			for _, name := range []string{"strict", "plain"} {
				if diff := cmp.Diff(map[string]int64{"good": 2}, b.counts(t, name)); diff != "" {
					t.Errorf("counts of %s (-want +got):\n%s", name, diff)
				}
			}
			wantSame(t, "tables", b.dump(t), b.replayed(t))
		})
	}
}

func TestDecisionTableThatCannotBeWrittenRefusesTheAppend(t *testing.T) {
	t.Parallel()
	b := setupCounters(t, counter{name: "strict", version: "1", kind: projections.Decision})
	b.append(t, good(0))
	if _, err := b.Append(t.Context(), to(good(1), event("too much", 2, nil))); err == nil {
		t.Fatal("an append was acknowledged that its decision table could not take")
	}
	b.append(t, good(3))
	if diff := cmp.Diff(map[string]int64{"good": 2}, b.counts(t, "strict")); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// Promise: parked
func TestReadModelThatFailsIsParked(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			broken := counter{name: "broken", version: "1", kind: projections.ReadModel, apply: failsAt(way.how)}
			b := setupCounters(t, broken, counter{name: "sound", version: "1", kind: projections.ReadModel})
			b.append(t, good(0), good(1))
			b.append(t, good(2), bad(3), good(4))
			b.append(t, good(5))

			parked := func() {
				t.Helper()
				all := b.statuses(t)
				got := all["broken"]
				if got.State != projections.Parked || got.Seq != 3 || got.Lag != 3 || got.ParkedSeq != 4 || got.ParkedError == "" || got.ParkedAt < epoch {
					t.Errorf("status is %+v", got)
				}
				for _, name := range []string{"route", "index", "conversation", "sound"} {
					if s := all[name]; s.State != projections.Live || s.Lag != 0 {
						t.Errorf("status of %s is %+v", name, s)
					}
				}
				if diff := cmp.Diff(map[string]int64{"good": 3}, b.counts(t, "broken")); diff != "" {
					t.Errorf("parked counts (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(map[string]int64{"good": 5, "bad": 1}, b.counts(t, "sound")); diff != "" {
					t.Errorf("counts of the other (-want +got):\n%s", diff)
				}
				stale, err := b.engine.Stale(t.Context())
				if diff := cmp.Diff([]string{"broken"}, stale); diff != "" || err != nil {
					t.Errorf("stale projections, %v (-want +got):\n%s", err, diff)
				}
			}
			parked()
			b.reopen(t)
			parked()

			failed := wantAs[*projections.ApplyError](t, b.engine.Rebuild(t.Context(), projections.RebuildOptions{}))
			if failed.Projection != "broken" || failed.Seq != 4 || failed.Type != "bad" || failed.Hint() == "" {
				t.Errorf("the rebuild failed with %+v", failed)
			}
			parked()

			broken.apply = nil
			b.reopen(t, withCounters(broken, counter{name: "sound", version: "1", kind: projections.ReadModel})...)
			parked()
			b.rebuild(t, projections.RebuildOptions{Names: []string{"broken"}})
			b.append(t, good(6))
			if s := b.statuses(t)["broken"]; s != (projections.Status{Name: "broken", Kind: projections.ReadModel, Version: "1", State: projections.Live, Seq: 7}) {
				t.Errorf("status after the rebuild is %+v", s)
			}
			if diff := cmp.Diff(map[string]int64{"good": 6, "bad": 1}, b.counts(t, "broken")); diff != "" {
				t.Errorf("counts after the rebuild (-want +got):\n%s", diff)
			}
			wantSame(t, "tables", b.dump(t), b.replayed(t))
		})
	}
}

func TestReadModelThatCannotBeWrittenIsParked(t *testing.T) {
	t.Parallel()
	b := setupCounters(t, counter{name: "broken", version: "1", kind: projections.ReadModel})
	b.append(t, good(0))
	b.append(t, good(1), event("too much", 2, nil))
	b.append(t, good(3))
	s := b.statuses(t)["broken"]
	if s.State != projections.Parked || s.Seq != 2 || s.ParkedSeq != 3 || s.ParkedError == "" {
		t.Errorf("status is %+v", s)
	}
	if diff := cmp.Diff(map[string]int64{"good": 2}, b.counts(t, "broken")); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

func TestCheckpointMovedByOthersIsNoticed(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"sequence": "UPDATE projections SET seq = 0 WHERE name = 'moved'",
		"version":  "UPDATE projections SET version = '2' WHERE name = 'moved'",
		"gone":     "DELETE FROM projections WHERE name = 'moved'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupCounters(t, counter{name: "moved", version: "1", kind: projections.ReadModel})
			b.append(t, good(0))
			b.run(t, statement)
			b.append(t, good(1))
			b.append(t, good(2))
			if diff := cmp.Diff(map[string]int64{"good": 1}, b.counts(t, "moved")); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			all := b.statuses(t)
			if s := all["moved"]; name != "gone" && (s.State != projections.Parked || s.ParkedSeq != 2) {
				t.Errorf("status is %+v", s)
			}
			if s := all["index"]; s.State != projections.Live || s.Lag != 0 {
				t.Errorf("status of another is %+v", s)
			}
			b.rebuild(t, projections.RebuildOptions{Names: []string{"moved"}})
			if diff := cmp.Diff(map[string]int64{"good": 3}, b.counts(t, "moved")); diff != "" {
				t.Errorf("counts after the rebuild (-want +got):\n%s", diff)
			}
			b.append(t, good(3))
			if s := b.statuses(t)["moved"]; s.State != projections.Live || s.Seq != 4 {
				t.Errorf("status after the rebuild is %+v", s)
			}
		})
	}
}

func TestFullDiskParksNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, definitions()...)
	b.close(t)
	info, err := os.Stat(b.path)
	if err != nil {
		t.Fatal(err)
	}
	b.open(t, sqlite.Options{MaxPages: info.Size()/4096 + 20})
	for i := int64(0); err == nil && i < 10_000; i++ {
		_, err = b.Append(t.Context(), to(good(i), event("a2a.send", i, map[string]any{"workSessionId": "ws_1", "conversationId": "c1"})))
	}
	wantAs[*eventstore.DiskFullError](t, err)
	for name, s := range b.statuses(t) {
		if s.State != projections.Live || s.Kind == projections.Decision && s.Lag != 0 { // there may be no room for read models
			t.Errorf("status of %s is %+v", name, s)
		}
	}
	b.reopen(t) // without a limit
	b.append(t, good(1))
	wantSame(t, "tables", b.dump(t), b.replayed(t))
}

func TestOtherVersionFreezesAReadModelUntilItIsRebuilt(t *testing.T) {
	t.Parallel()
	b := setupCounters(t, counter{name: "model", version: "1", kind: projections.ReadModel})
	b.append(t, good(0), good(1))

	b.reopen(t, withCounters(counter{name: "model", version: "2", kind: projections.ReadModel, weight: 10})...)
	b.append(t, good(2))
	if s := b.statuses(t)["model"]; s.State != projections.Rebuilding || s.Seq != 2 || s.Lag != 1 {
		t.Errorf("status is %+v", s)
	}
	if diff := cmp.Diff(map[string]int64{"good": 2}, b.counts(t, "model")); diff != "" {
		t.Errorf("frozen counts (-want +got):\n%s", diff)
	}
	if got := b.asOf(t); got != 2 {
		t.Errorf("answers are as of %d, want 2", got)
	}
	stale, err := b.engine.Stale(t.Context())
	if diff := cmp.Diff([]string{"model"}, stale); diff != "" || err != nil {
		t.Errorf("stale projections, %v (-want +got):\n%s", err, diff)
	}
	b.reopen(t) // the state lasts
	b.rebuild(t, projections.RebuildOptions{Names: stale})
	b.append(t, good(3))
	if s := b.statuses(t)["model"]; s.State != projections.Live || s.Version != "2" || s.Seq != 4 {
		t.Errorf("status after the rebuild is %+v", s)
	}
	if diff := cmp.Diff(map[string]int64{"good": 40}, b.counts(t, "model")); diff != "" {
		t.Errorf("counts after the rebuild (-want +got):\n%s", diff)
	}
	if got := b.asOf(t); got != 4 {
		t.Errorf("answers are as of %d, want 4", got)
	}
}

// Going back to the older program before anything was appended finds everything as it was.
func TestVersionThatNeverRanLeavesTheTablesAlone(t *testing.T) {
	t.Parallel()
	v1 := counter{name: "model", version: "1", kind: projections.ReadModel}
	b := setupCounters(t, v1)
	b.append(t, good(0))
	b.reopen(t, withCounters(counter{name: "model", version: "2", kind: projections.ReadModel})...)
	b.reopen(t, withCounters(v1)...)
	b.append(t, good(1))
	if s := b.statuses(t)["model"]; s.State != projections.Live || s.Seq != 2 {
		t.Errorf("status is %+v", s)
	}
}

func TestDecisionTableIsUpToDateWhenTheEngineHasStarted(t *testing.T) {
	t.Parallel()
	b := setupCounters(t, counter{name: "table", version: "1", kind: projections.Decision})
	b.append(t, good(0), good(1))
	b.reopen(t, withCounters(counter{name: "table", version: "2", kind: projections.Decision, weight: 10})...)
	if diff := cmp.Diff(map[string]int64{"good": 20}, b.counts(t, "table")); diff != "" {
		t.Errorf("counts after a new version (-want +got):\n%s", diff)
	}
	b.reopen(t, definitions()...) // without it
	b.append(t, good(2))
	b.reopen(t, withCounters(counter{name: "table", version: "2", kind: projections.Decision, weight: 10})...)
	if diff := cmp.Diff(map[string]int64{"good": 30}, b.counts(t, "table")); diff != "" {
		t.Errorf("counts after others had appended (-want +got):\n%s", diff)
	}
}

func TestNewProjectionOfAnOldLogIsStale(t *testing.T) {
	t.Parallel()
	b := setupCounters(t)
	b.append(t, good(0))
	b.run(t, "CREATE TABLE model_counts"+countsTable)
	b.reopen(t, withCounters(counter{name: "model", version: "1", kind: projections.ReadModel})...)
	if s := b.statuses(t)["model"]; s.State != projections.Rebuilding || s.Seq != 0 {
		t.Errorf("status is %+v", s)
	}
	b.rebuild(t, projections.RebuildOptions{})
	if diff := cmp.Diff(map[string]int64{"good": 1}, b.counts(t, "model")); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// A panic outside the projections fails the batch; the tables follow.
func TestFailedTransactionLeavesNoTrace(t *testing.T) {
	t.Parallel()
	b := setup(t, definitions()...)
	b.append(t, event("a2a.send", 0, map[string]any{"workSessionId": "ws_1", "conversationId": "c1", "fromAgent": "main", "toAgent": "ruda"}))
	before := b.dump(t)
	_, err := b.Decide(t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		if _, err := tx.Exec("DELETE FROM routes"); err != nil {
			return nil, err
		}
		panic("on purpose")
	})
	if err == nil {
		t.Fatal("a decision that panicked was acknowledged")
	}
	wantSame(t, "tables", b.dump(t), before)
}

func (b *bundle) asOf(t testing.TB) (seq int64) {
	t.Helper()
	err := b.View(t.Context(), func(tx *sql.Tx) (err error) { seq, err = projections.AsOf(t.Context(), tx); return err })
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

// roles are those of the events of a type, by seq.
func (b *bundle) roles(t testing.TB, typ string) []string {
	t.Helper()
	return b.texts(t, "SELECT role FROM v_events WHERE type = '"+typ+"' ORDER BY seq")
}

// What the log says of the team holds from there on, for ever, and nothing before it.
func TestConfigurationHoldsForLaterEventsOnly(t *testing.T) {
	t.Parallel()
	const delegation, conversation = "delegation.subagent", "conversation.main"
	b := setupCounters(t, counter{name: "strict", version: "1", kind: projections.Decision, apply: failsAt(func(eventstore.Tx) error { return errOnPurpose })})
	send := event("a2a.send", 0, map[string]any{"workSessionId": "ws_1", "conversationId": "c1", "fromAgent": "eden", "toAgent": "seum"})
	config := func(agents ...string) eventstore.NewEvent {
		list := []map[string]any{}
		for _, id := range agents {
			list = append(list, map[string]any{"id": id})
		}
		return event("config.applied", 0, map[string]any{"agents": list})
	}
	check := func(when string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, b.roles(t, "a2a.send")); diff != "" {
			t.Fatalf("roles %s (-want +got):\n%s", when, diff)
		}
	}
	b.append(t, send)
	b.append(t, send, config("eden", "seum"), send)
	b.append(t, event("config.applied", 0, map[string]any{"agents": "stranger"}), send)
	check("live", delegation, delegation, conversation, conversation)
	if _, err := b.Append(t.Context(), to(config("eden"), bad(0))); !errors.Is(err, errOnPurpose) {
		t.Fatal(err)
	}
	b.append(t, send)
	check("after a configuration that was refused", delegation, delegation, conversation, conversation, conversation)
	b.reopen(t)
	b.append(t, send)
	check("after a restart", delegation, delegation, conversation, conversation, conversation, conversation)
	b.rebuild(t, projections.RebuildOptions{Names: []string{"index"}})
	b.append(t, send)
	check("after a rebuild", delegation, delegation, conversation, conversation, conversation, conversation, conversation)
	claimed := config()
	claimed.Actor = eventstore.ActorImport
	b.append(t, claimed) // a line of an imported log may claim anything
	b.append(t, config("eden"), send)
	b.rebuild(t, projections.RebuildOptions{})
	b.append(t, send)
	check("after it was taken back", delegation, delegation, conversation, conversation, conversation, conversation, conversation, delegation, delegation)
	b.reopen(t, withCounters()...)
	b.append(t, send)
	wantSame(t, "tables", b.dump(t), b.replayed(t))
}

func TestUnknownStateIsAFailure(t *testing.T) {
	t.Parallel()
	b := setup(t, definitions()...)
	b.append(t, good(0))
	b.run(t, `UPDATE projections SET context = '[]' WHERE name = 'index'`)
	b.close(t)
	defer b.open(t, sqlite.Options{})
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: b.path})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := projections.Start(t.Context(), db, b.defs, projections.Options{Rules: rules}); err == nil {
		t.Error("an engine started on a context that is none")
	}
	if err := db.Exclusive(t.Context(), func(tx eventstore.Tx) error {
		_, err := tx.Exec(`UPDATE projections SET context = '{}'`)
		return err
	}, nil); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
