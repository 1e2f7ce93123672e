package server

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/continuation"
	"github.com/pronto-lab/openclawd/projections/index"
	tasks "github.com/pronto-lab/openclawd/projections/task"
)

// goingFacts are how agents are kept going, and what of it waits for people. What is read for them does not grow with what is over.
type goingFacts struct {
	pausing   int              // agents that are not prompted, because prompts to them have failed
	told      int              // tasks that are blocked, of which nobody is asked any more: somebody was told
	happened  map[string]int64 // events of the log, by type of goingTypes
	approvals map[string]waits // by kind of monitor.Approval
}

// waits is what waits for somebody.
type waits struct {
	n     int
	since int64 // when the first was asked for, ms since 1970; 0: nobody knows, or there is none
}

// goingTypes are what is done so that agents go on.
var goingTypes = []string{coordination.TypeContinuationSent, coordination.TypeContinuationBackoff, coordination.TypeResumeReminderSent,
	coordination.TypeBacklogAutoPicked, coordination.TypeUnblockRequested, coordination.TypeUnblockFailed, coordination.TypeZombieAbandoned}

// escalationFailed is the escalation state of a task that nobody is asked about any more.
const escalationFailed = "failed"

func readGoing(ctx context.Context, tx *sql.Tx, now time.Time) (*goingFacts, error) {
	g := &goingFacts{happened: map[string]int64{}, approvals: map[string]waits{}}
	agents, err := continuation.List(ctx, tx)
	if err != nil {
		return nil, err
	}
	for i := range agents {
		if agents[i].BackoffUntil > now.UnixMilli() {
			g.pausing++
		}
	}
	open := true
	blocked, _, err := tasks.List(ctx, tx, tasks.Filter{Statuses: []string{coordination.StateBlocked}, Open: &open})
	if err != nil {
		return nil, err
	}
	for i := range blocked {
		if t := &blocked[i]; !t.Gone && t.EscalationState == escalationFailed {
			g.told++
		}
	}
	for _, typ := range goingTypes {
		found, err := index.Select(ctx, tx, index.Filter{Types: []string{typ}})
		if err != nil {
			return nil, fmt.Errorf("count %s: %w", typ, err)
		}
		g.happened[typ] = found.Matched
	}
	waiting, err := monitor.PendingApprovals(ctx, tx, monitor.ApprovalQuery{Limit: 1})
	if err != nil {
		return nil, err
	}
	for kind, of := range waiting.Kinds {
		g.approvals[kind] = waits{of.N, of.SinceMs}
	}
	return g, nil
}

// addGoing adds how agents are kept going, where that is done here. Agents are no label, as in addWork.
func (c *figures) addGoing() {
	each := func(kind prometheus.ValueType, name, help string, labels []string, collect func(*facts, func(float64, ...string))) {
		c.add(kind, name, help, labels, func(f *facts, tell func(float64, ...string)) {
			if f.going != nil {
				collect(f, tell)
			}
		})
	}
	each(prometheus.GaugeValue, "continuation_agents_backoff", "Agents that are not prompted for now, because prompts to them have failed.", nil,
		func(f *facts, tell func(float64, ...string)) { tell(float64(f.going.pausing)) })
	each(prometheus.CounterValue, "continuation_events_total", "What was done so that agents go on, by the type of its event.", []string{"type"},
		func(f *facts, tell func(float64, ...string)) {
			for _, typ := range goingTypes {
				tell(float64(f.going.happened[typ]), typ)
			}
		})
	each(prometheus.GaugeValue, "tasks_blocked_told", "Blocked tasks that nobody is asked about any more: somebody was told.", nil,
		func(f *facts, tell func(float64, ...string)) { tell(float64(f.going.told)) })
	kinds := []string{monitor.ApprovalOfTask, monitor.ApprovalOfPlan}
	each(prometheus.GaugeValue, "approvals_waiting", "What waits for somebody to agree to it, by kind.", []string{"kind"},
		func(f *facts, tell func(float64, ...string)) {
			for _, kind := range kinds {
				tell(float64(f.going.approvals[kind].n), kind)
			}
		})
	each(prometheus.GaugeValue, "approvals_oldest_wait_seconds", "How long the first that waits for somebody to agree to it has waited, by kind.", []string{"kind"},
		func(f *facts, tell func(float64, ...string)) {
			for _, kind := range kinds {
				age := 0.0
				if since := f.going.approvals[kind].since; since > 0 {
					age = max(f.at.Sub(time.UnixMilli(since)), 0).Seconds()
				}
				tell(age, kind)
			}
		})
}
