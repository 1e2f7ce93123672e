package scheduler_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/schedules"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/sandbox"
	"github.com/pronto-lab/openclawd/services/scheduler"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	goleak.VerifyTestMain(m)
}

func definitions() []projections.Definition {
	return []projections.Definition{sessions.Definition(), runs.Definition(), workqueue.Definition(), schedules.Definition()}
}

var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}, definitions()...))

// begin is what the clock shows at first.
var begin = time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)

// plan is a log with schedules, under a clock that the test sets.
type plan struct {
	t         testing.TB
	path, dir string
	settings  string
	db        *sqlite.DB
	now       time.Time
	tick      func() // before the service reads the clock; nil: nothing
	ids       int
	conf      *config.Config
	box       tool.Box // what checks ask
	*scheduler.Service
}

// newPlan makes a log. settings is openclaw.json.
func newPlan(t testing.TB, settings string) *plan {
	t.Helper()
	dir := t.TempDir()
	p := &plan{t: t, path: filepath.Join(dir, "log.db"), dir: dir, now: begin, settings: settings}
	storetest.Copy(t, emptyLog, p.path)
	p.open()
	t.Cleanup(func() { p.close() })
	return p
}

func (p *plan) open() {
	p.t.Helper()
	db, err := sqlite.Open(context.Background(), sqlite.Options{Path: p.path, Durability: sqlite.DurabilityRelaxed, Now: func() time.Time { return p.now }})
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := projections.Start(context.Background(), db, definitions(), projections.Options{Rules: coordination.RulesV2}); err != nil {
		p.t.Fatal(err)
	}
	file := filepath.Join(p.dir, "openclaw.json")
	if err := os.WriteFile(file, []byte(p.settings), 0o600); err != nil {
		p.t.Fatal(err)
	}
	conf, findings := config.Load(file, func(string) string { return "" })
	if err := findings.Err(); err != nil {
		p.t.Fatal(err)
	}
	p.db, p.conf = db, conf
	inForce := func() *config.Config { return p.conf }
	now := func() time.Time {
		if p.tick != nil {
			p.tick()
		}
		return p.now
	}
	models := func() *catalogue.Catalogue {
		return catalogue.New(p.conf, catalogue.Options{Getenv: func(string) string { return "" }})
	}
	queue := runqueue.New(runqueue.Options{Log: db, Config: inForce, Models: models, Now: now, NewID: p.id})
	p.Service = scheduler.New(scheduler.Options{Log: db, Queue: queue, Config: inForce, Workspace: func(string) string { return p.dir }, Tools: func() tool.Box { return p.box }, Now: now, NewID: p.id,
		Logger: slog.New(slog.DiscardHandler)})
}

func (p *plan) id() string {
	p.ids++
	return "id-" + strconv.Itoa(p.ids)
}

func (p *plan) close() {
	if err := p.db.Close(); err != nil {
		p.t.Error(err)
	}
}

// restart ends the process and starts another.
func (p *plan) restart() {
	p.t.Helper()
	p.close()
	p.open()
	if err := p.Recover(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

// add adds a job that runs in its own session.
func (p *plan) add(s coordination.CronSchedule, change ...func(*coordination.CronJob)) schedules.Row {
	p.t.Helper()
	j := coordination.CronJob{Name: "job", Enabled: true, Schedule: s, Payload: coordination.CronPayload{Kind: schedule.PayloadTurn, Message: "do it"}}
	for _, c := range change {
		c(&j)
	}
	row, err := p.Add(p.t.Context(), j, "test")
	if err != nil {
		p.t.Fatal(err)
	}
	return row
}

// look begins what is due.
func (p *plan) look() (next time.Time) {
	p.t.Helper()
	next, err := p.Look(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return next
}

// finish ends the agents' runs that are queued: each is answered, or fails.
func (p *plan) finish(fails bool) (ended int) {
	p.t.Helper()
	for _, r := range p.openRuns() {
		_, err := p.db.Decide(p.t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
			r.State, r.StartedAt = run.Running, p.now.UnixMilli()
			q := coordination.RunQueued{RunID: r.RunID, SessionKey: r.SessionKey}
			over := coordination.RunOver{Text: "done", EndedAtMs: p.now.UnixMilli(), ModelCalls: 1, Usage: &coordination.SessionUsage{Input: 10, Output: 2, Total: 12}}
			to := run.OK
			if fails {
				to, over.Error, over.Text = run.Failed, "no model", ""
			}
			end, err := run.End(r, to, over)
			if err != nil {
				return nil, err
			}
			a := eventstore.StreamAppend{Stream: coordination.RunStream(r.RunID)}
			started := run.Start(&q, "s", p.now.UnixMilli(), 0, "fake/echo", "")
			if err := a.Add(eventstore.NewEvent{Type: started.Type}, started.Data, p.now.UnixMilli()); err != nil {
				return nil, err
			}
			if err := a.Add(eventstore.NewEvent{Type: end.Type}, end.Data, p.now.UnixMilli()); err != nil {
				return nil, err
			}
			r.State, r.Over = to, &over
			follows, err := p.Then(tx, &runner.EndedRun{Asked: &q, Result: r, Now: p.now}, false)
			return append([]eventstore.StreamAppend{a}, follows...), err
		})
		if err != nil {
			p.t.Fatal(err)
		}
		ended++
	}
	return ended
}

// openRuns lists the open runs of agents, in the order in which they were queued.
func (p *plan) openRuns() (list []run.Result) {
	p.t.Helper()
	err := p.db.View(p.t.Context(), func(tx *sql.Tx) (err error) {
		list, err = runs.List(p.t.Context(), tx, runs.Query{States: []run.State{run.Queued, run.Running}})
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// job is a job now; ok is false if it is gone.
func (p *plan) job(id string) (row schedules.Row, ok bool) {
	p.t.Helper()
	p.read(func(tx eventstore.Tx) (err error) {
		row, ok, err = schedules.Load(tx, id)
		return err
	})
	return row, ok
}

// history lists the runs of a job that are over, oldest first.
func (p *plan) history(id string) (list []schedules.Run) {
	p.t.Helper()
	p.read(func(tx eventstore.Tx) (err error) {
		list, _, err = schedules.ListRuns(tx, schedules.RunsQuery{JobID: id, Up: true, Limit: 100_000})
		return err
	})
	return list
}

// last decodes the newest event of a type.
func (p *plan) last(typ string, into any) {
	p.t.Helper()
	events, err := p.db.Read(p.t.Context(), 0, 1_000)
	if err != nil {
		p.t.Fatal(err)
	}
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Type == typ {
			if err := json.Unmarshal(events[i].Data, into); err != nil {
				p.t.Fatal(err)
			}
			return
		}
	}
	p.t.Fatalf("no event %s", typ)
}

func (p *plan) read(read func(eventstore.Tx) error) {
	p.t.Helper()
	if err := p.db.View(p.t.Context(), func(tx *sql.Tx) error { return read(projections.Reading(p.t.Context(), tx)) }); err != nil {
		p.t.Fatal(err)
	}
}
