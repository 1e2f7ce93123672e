package flows_test

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections/flows"
)

// model is what flows and handoffs should be, kept as simply as can be: in the order in which they were asked for.
type model struct {
	flows    []*a2a.Flow
	handoffs []*modelHandoff
	sent     map[string]bool // flows whose a2a.send there was
	started  map[string]bool // flows whose stream has an event, whatever that is
}

type modelHandoff struct {
	job, from, to, typ, state, status string
	reply, answered                   int64 // seqs
}

func (m *model) find(id string) *a2a.Flow {
	for _, f := range m.flows {
		if f.JobID == id {
			return f
		}
	}
	return nil
}

// drawn is an event of a flow, sensible or not.
type drawn struct {
	id     string
	append eventstore.StreamAppend
}

// modelFlows are the flows that there may be: what they are is always the same.
var modelFlows = []struct{ id, from, to, kind, typ, subject, payload string }{
	{"f0", "eden", "seum", "send", "question", "q1", asks},
	{"f1", "seum", "dajim", "send", "task_delegation", "t1", gives},
	{"f2", "eden", "seum", "send", "question", "q1", asks},
	{"f3", "seum", "eden", "send", "answer", "q1", answers},
	{"f4", "dajim", "seum", "send", "status_report", "t1", reports("in_progress")},
	{"f5", "dajim", "eden", "send", "question", "q1", asks},
	{"f6", "dajim", "seum", "send", "status_report", "t1", reports("completed")},
	{"흐름 / 7", "eden", "seum", "spawn", "", "", ""},
}

func drawEvent(t *rapid.T) drawn {
	m := rapid.SampledFrom(modelFlows).Draw(t, "flow")
	do := rapid.SampledFrom([]string{"created", "created", "created", "sent", "sent", "answered", "running", "running", "resumed", "completed", "failed",
		"cancelled"}).Draw(t, "do")
	job := coordination.A2AJob{JobID: m.id, Kind: m.kind, FromAgent: m.from, ToAgent: m.to}
	switch do {
	case "created":
		how := []change{between(m.from, m.to), requester("agent:" + m.from + ":main"), payload(m.typ, m.subject, "h"),
			func(c *coordination.A2AJobCreated) { c.Kind = m.kind }}
		if m.kind == "send" && rapid.Bool().Draw(t, "dispatching") {
			how = append(how, dispatching)
		}
		return drawn{m.id, created(1, m.id, how...)}
	case "sent":
		return drawn{m.id, sent(2, m.id, m.from, m.to, m.typ, m.payload)}
	case "answered":
		from, to := m.to, m.from
		if rapid.Bool().Draw(t, "turn") {
			from, to = to, from
		}
		outcome := rapid.SampledFrom([]string{"", "", "no_reply"}).Draw(t, "outcome")
		return drawn{m.id, answered(3, m.id, from, to, func(r *coordination.A2AResponse) { r.Outcome = outcome })}
	case "running":
		job.Phase = rapid.SampledFrom([]string{"waiting", "turn", "announcing", "posting"}).Draw(t, "phase")
		job.DueAtMs, job.RunID, job.Speaker, job.Attempt, job.Turn = base+50, m.id+".x", m.to, 1, 1
		job.LastText = rapid.SampledFrom([]string{"", "좋아"}).Draw(t, "last")
		job.Post = rapid.SampledFrom([]string{"", "알립니다"}).Draw(t, "post")
	case "failed":
		job.Outcome = "no_reply"
	}
	return drawn{m.id, event(4, coordination.JobStream(m.id), "a2a.job."+do, job)}
}

// fold is what an event does to the model. seq is what the log has given it.
func (m *model) fold(t *rapid.T, d drawn, seq int64) {
	e := d.append.Events[0]
	f := m.find(d.id)
	switch e.Type {
	case coordination.TypeA2ASend:
		m.send(f, seq)
	case coordination.TypeA2AResponse:
		var r coordination.A2AResponse
		if err := json.Unmarshal(e.Data, &r); err != nil {
			t.Fatal(err)
		}
		if f == nil || f.Phase == a2a.Over || r.Outcome != "" || r.FromAgent != f.ToAgent {
			return
		}
		for _, h := range m.handoffs {
			if h.job == d.id && h.state == flows.HandoffOpen && h.reply == 0 {
				h.reply = seq
			}
		}
	case coordination.TypeA2AJobCreated:
		if f == nil && !m.started[d.id] {
			f = &a2a.Flow{}
			m.flows = append(m.flows, f)
			m.apply(t, f, e, seq)
		}
	default:
		if f != nil {
			m.apply(t, f, e, seq)
		}
	}
	if d.append.Stream == coordination.JobStream(d.id) {
		m.started[d.id] = true
	}
}

func (m *model) apply(t *rapid.T, f *a2a.Flow, e eventstore.NewEvent, seq int64) {
	wasOpen := f.Phase.Open()
	if _, err := f.Apply(e.Type, e.Data, seq, e.TS); err != nil {
		t.Fatal(err)
	}
	if !wasOpen || f.Phase != a2a.Over {
		return
	}
	for _, h := range m.handoffs {
		switch {
		case h.job != f.JobID || h.state != flows.HandoffOpen:
		case f.Outcome != a2a.OutcomeOK:
			h.state = flows.HandoffFailed
		case h.typ == "question":
			h.state, h.answered = flows.HandoffAnswered, h.reply
		}
	}
}

func (m *model) send(f *a2a.Flow, seq int64) {
	if f == nil || f.Phase == a2a.Over || m.sent[f.JobID] {
		return
	}
	m.sent[f.JobID] = true
	about := func(typ string, do func(*modelHandoff)) {
		for _, h := range m.handoffs {
			if h.state == flows.HandoffOpen && h.typ == typ {
				do(h)
			}
		}
	}
	switch f.PayloadType {
	case "question", "task_delegation":
		about(f.PayloadType, func(h *modelHandoff) {
			if h.from == f.FromAgent && h.to == f.ToAgent {
				h.state = flows.HandoffReplaced
			}
		})
		m.handoffs = append(m.handoffs, &modelHandoff{job: f.JobID, from: f.FromAgent, to: f.ToAgent, typ: f.PayloadType, state: flows.HandoffOpen})
	case "answer":
		about("question", func(h *modelHandoff) {
			if h.from == f.ToAgent && h.to == f.FromAgent {
				h.state, h.answered = flows.HandoffAnswered, seq
			}
		})
	case "status_report":
		about("task_delegation", func(h *modelHandoff) {
			if h.status = "in_progress"; f.JobID == "f6" {
				h.status, h.state, h.answered = "completed", flows.HandoffAnswered, seq
			}
		})
	}
}

// lines describes the model as got describes a log.
func (m *model) lines() (lines []string) {
	counts := map[string]int{}
	for _, f := range slices.Backward(m.flows) {
		lines = append(lines, fmt.Sprintf("%s %+v", f.JobID, *f))
		counts[fmt.Sprint(f.Kind, " ", f.Phase, " ", f.Outcome)]++
	}
	for _, agent := range []string{"eden", "seum", "dajim"} {
		active, waiting, children, next := 0, 0, 0, ""
		for _, f := range m.flows {
			switch {
			case !f.Phase.Open():
			case f.Kind == "spawn" && f.FromAgent == agent:
				children++
			case f.Kind == "spawn" || f.ToAgent != agent:
			case f.Phase != a2a.Dispatching:
				active++
			default:
				waiting++
				next = cmp.Or(next, f.JobID)
			}
		}
		lines = append(lines, fmt.Sprintf("%s: %d active, %d waiting %s, %d children", agent, active, waiting, next, children))
	}
	for _, sort := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprint(sort, ": ", counts[sort]))
	}
	for _, h := range slices.Backward(m.handoffs) {
		lines = append(lines, fmt.Sprintf("%s %s>%s %s %s %s %d", h.job, h.from, h.to, h.typ, h.state, h.status, h.answered))
	}
	return lines
}

func (l *log) got(t *rapid.T) (lines []string) {
	var rows []flows.Row
	var tallies []flows.Tally
	var handoffs []flows.Handoff
	err := l.View(context.Background(), func(tx *sql.Tx) (err error) {
		var err1, err2, err3 error
		rows, err1 = flows.List(context.Background(), tx, flows.Query{})
		tallies, err2 = flows.Count(context.Background(), tx)
		handoffs, err3 = flows.Handoffs(context.Background(), tx, flows.HandoffQuery{})
		return errors.Join(err1, err2, err3)
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Decide(context.Background(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		lines = nil
		for _, r := range rows {
			f, _, err := flows.Load(tx, r.JobID)
			if err != nil {
				return nil, err
			}
			lines = append(lines, fmt.Sprintf("%s %+v", r.JobID, *f))
		}
		for _, agent := range []string{"eden", "seum", "dajim"} {
			active, waiting, err := flows.Permits(tx, agent)
			next, err2 := flows.Next(tx, agent)
			children, err3 := flows.Children(tx, "agent:"+agent+":main")
			if err := errors.Join(err, err2, err3); err != nil {
				return nil, err
			}
			lines = append(lines, fmt.Sprintf("%s: %d active, %d waiting %s, %d children", agent, active, waiting, next, children))
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var counts []string
	for _, c := range tallies {
		counts = append(counts, fmt.Sprint(c.Kind, " ", c.Phase, " ", c.Outcome, ": ", c.Flows))
	}
	lines = append(lines, slices.Sorted(slices.Values(counts))...)
	for _, h := range handoffs {
		lines = append(lines, fmt.Sprintf("%s %s>%s %s %s %s %d", h.JobID, h.From, h.To, h.Type, h.State, h.Status, h.AnsweredSeq))
	}
	return lines
}

// Whatever happens to flows, the tables are as a simple model has them, however the events were cut into batches, and after a rebuild they are the
// same.
func TestFlowsAreAsTheModelHasThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		storetest.Copy(t, emptyLog, filepath.Join(dir, "log.db"))
		l := openAt(t, filepath.Join(dir, "log.db"))
		defer func() { l.close(t) }()
		m := &model{sent: map[string]bool{}, started: map[string]bool{}}
		events := rapid.SliceOfN(rapid.Custom(drawEvent), 1, 80).Draw(rt, "events")
		for rest, batch := events, 1; len(rest) > 0; batch++ {
			n := min(rapid.IntRange(1, 10).Draw(rt, "batch"), len(rest))
			var appends []eventstore.StreamAppend
			for i, d := range rest[:n] {
				appends = append(appends, d.append)
				m.fold(rt, d, int64(len(events)-len(rest)+i+1))
			}
			l.append(t, appends...)
			rest = rest[n:]
			if batch%5 == 0 {
				l.close(t)
				l = openAt(t, l.path)
			}
			if diff := gocmp.Diff(m.lines(), l.got(rt)); diff != "" {
				rt.Fatalf("after %d of %d, -model +log:\n%s", len(events)-len(rest), len(events), diff)
			}
		}
		stored, err := l.Read(t.Context(), 0, 1000)
		if err != nil {
			rt.Fatal(err)
		}
		live := l.dump(t)
		storetest.Copy(t, emptyLog, filepath.Join(dir, "other.db"))
		other := openAt(t, filepath.Join(dir, "other.db"))
		defer other.close(t)
		for rest := stored; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "other batch")
			if err := other.Restore(t.Context(), rest[:n]); err != nil {
				rt.Fatal(err)
			}
			rest = rest[n:]
		}
		l.rebuild(t)
		for how, tables := range map[string][]string{"in other batches": other.dump(t), "rebuilt": l.dump(t)} {
			if diff := gocmp.Diff(live, tables); diff != "" {
				rt.Fatalf("tables %s (-live +%s):\n%s", how, how, diff)
			}
		}
	})
}
