package server

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/index"
)

// flowFacts are the metrics of flows between agents.
type flowFacts struct {
	tallies    []flows.Tally
	throttled  int64 // flows that had to wait for a permit
	permitless int64 // and that timed out waiting
}

func (f *flowFacts) read(ctx context.Context, tx *sql.Tx) (err error) {
	if f.tallies, err = flows.Count(ctx, tx); err != nil {
		return err
	}
	for typ, n := range map[string]*int64{coordination.TypeA2AConcurrencyThrottle: &f.throttled, coordination.TypeA2AConcurrencyTimeout: &f.permitless} {
		found, err := index.Select(ctx, tx, index.Filter{Types: []string{typ}})
		if err != nil {
			return fmt.Errorf("count %s: %w", typ, err)
		}
		*n = found.Matched
	}
	return nil
}

// permits is the number of flows that hold one.
func (f *flowFacts) permits() (held int64) {
	for _, t := range f.tallies {
		if t.Kind == a2a.Send && t.Phase.Holds() {
			held += t.Flows
		}
	}
	return held
}

var openPhases = []a2a.Phase{a2a.Dispatching, a2a.Waiting, a2a.Turn, a2a.Announcing, a2a.Posting}

// addFlows adds metrics of flows between agents. As in addWork, agents are not a label.
func (c *metricsCollector) addFlows() {
	count := func(kind prometheus.ValueType, name, help string, value func(*flowFacts) int64) {
		c.add(kind, "a2a_"+name, help, nil, func(f *facts, tell func(float64, ...string)) {
			if f.err == nil {
				tell(float64(value(&f.flows)))
			}
		})
	}
	c.add(prometheus.GaugeValue, "a2a_flows_open", "Open flows between agents, by what they wait for.", []string{"kind", "phase"},
		func(f *facts, tell func(float64, ...string)) {
			if f.err != nil {
				return
			}
			for _, kind := range []a2a.Kind{a2a.Send, a2a.Spawn} {
				for _, phase := range openPhases {
					tell(float64(f.flows.of(kind, phase)), string(kind), string(phase))
				}
			}
		})
	c.add(prometheus.CounterValue, "a2a_flows_total", "Finished flows between agents, by outcome.", []string{"kind", "outcome"},
		func(f *facts, tell func(float64, ...string)) {
			for _, t := range f.flows.tallies {
				if t.Phase == a2a.Over {
					tell(float64(t.Flows), string(t.Kind), t.Outcome)
				}
			}
		})
	count(prometheus.GaugeValue, "permits_in_use", "Flows between agents that hold a permit of their target.", (*flowFacts).permits)
	count(prometheus.CounterValue, "throttled_total", "Flows between agents that had to wait for a permit of their target.",
		func(f *flowFacts) int64 { return f.throttled })
	count(prometheus.CounterValue, "permit_timeouts_total", "Flows between agents that timed out waiting for a permit of their target.",
		func(f *flowFacts) int64 { return f.permitless })
}

func (f *flowFacts) of(kind a2a.Kind, phase a2a.Phase) (n int64) {
	for _, t := range f.tallies {
		if t.Kind == kind && t.Phase == phase {
			n += t.Flows
		}
	}
	return n
}
