package server

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/projections/continuations"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/pending"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

// continuationFacts are the metrics of task continuation and of what waits for people. The cost of reading them does not grow
// with finished work.
type continuationFacts struct {
	pausing   int                     // agents in back-off after failed prompts
	told      int                     // blocked tasks that were escalated to a person; agents are no longer asked about them
	happened  map[string]int64        // events of the log, by type of goingTypes
	approvals map[string]pending.Kind // by kind
}

// goingTypes are the event types of continuation.
var goingTypes = []string{coordination.TypeContinuationSent, coordination.TypeContinuationBackoff, coordination.TypeResumeReminderSent,
	coordination.TypeBacklogAutoPicked, coordination.TypeUnblockRequested, coordination.TypeUnblockFailed, coordination.TypeZombieAbandoned}

// escalationFailed is the escalation state of a task about which agents are no longer asked.
const escalationFailed = "failed"

func readContinuation(ctx context.Context, tx *sql.Tx, now time.Time) (*continuationFacts, error) {
	g := &continuationFacts{happened: map[string]int64{}}
	agents, err := continuations.List(ctx, tx)
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
	waiting, err := pending.Approvals(ctx, tx, pending.Query{Limit: 1, Now: now.UnixMilli()})
	if err != nil {
		return nil, err
	}
	g.approvals = waiting.Kinds
	return g, nil
}

// addContinuation adds metrics of continuation, where it runs in this process. As in addWork, agents are not a label.
func (c *metricsCollector) addContinuation() {
	each := func(kind prometheus.ValueType, name, help string, labels []string, collect func(*facts, func(float64, ...string))) {
		c.add(kind, name, help, labels, func(f *facts, tell func(float64, ...string)) {
			if f.going != nil {
				collect(f, tell)
			}
		})
	}
	each(prometheus.GaugeValue, "continuation_agents_backoff", "Agents in back-off after failed prompts.", nil,
		func(f *facts, tell func(float64, ...string)) { tell(float64(f.going.pausing)) })
	each(prometheus.CounterValue, "continuation_events_total", "Continuation steps, by event type.", []string{"type"},
		func(f *facts, tell func(float64, ...string)) {
			for _, typ := range goingTypes {
				tell(float64(f.going.happened[typ]), typ)
			}
		})
	each(prometheus.GaugeValue, "tasks_blocked_told", "Blocked tasks that were escalated to a person.", nil,
		func(f *facts, tell func(float64, ...string)) { tell(float64(f.going.told)) })
	kinds := []string{approval.OfTask, approval.OfPlan, approval.OfCall}
	each(prometheus.GaugeValue, "approvals_waiting", "Pending approvals, by kind.", []string{"kind"},
		func(f *facts, tell func(float64, ...string)) {
			for _, kind := range kinds {
				tell(float64(f.going.approvals[kind].N), kind)
			}
		})
	each(prometheus.GaugeValue, "approvals_oldest_wait_seconds", "Age of the oldest pending approval, by kind.", []string{"kind"},
		func(f *facts, tell func(float64, ...string)) {
			for _, kind := range kinds {
				age := 0.0
				if since := f.going.approvals[kind].SinceMs; since > 0 {
					age = max(f.at.Sub(time.UnixMilli(since)), 0).Seconds()
				}
				tell(age, kind)
			}
		})
}
