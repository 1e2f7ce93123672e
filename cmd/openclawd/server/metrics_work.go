package server

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronto-lab/openclawd/coordination/run"
	decide "github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/projections/work"
)

// addWork adds what waits and what runs. Agents are no label: there may be many, GET /api/status names them.
func (c *figures) addWork() {
	label := []string{"pool"}
	for _, m := range []struct {
		name, help string
		value      func(*work.Lane) int
	}{
		{"waiting", "What waits to be done, by pool.", func(l *work.Lane) int { return l.Waiting }},
		{"leased", "What is being done, by pool.", func(l *work.Lane) int { return l.Leased }},
		{"dead", "What was given up and waits for somebody to look at it, by pool.", func(l *work.Lane) int { return l.Dead }},
	} {
		c.add(prometheus.GaugeValue, "work_"+m.name, m.help, label, func(f *facts, tell func(float64, ...string)) {
			pools := f.pools()
			for i := range f.lanes {
				pools[f.lanes[i].Pool] += float64(m.value(&f.lanes[i]))
			}
			tellAll(pools, tell)
		})
	}
	const oldest = "How long the first that waits has waited, by pool; in the pool of flows between agents how long it is overdue."
	c.add(prometheus.GaugeValue, "work_oldest_wait_seconds", oldest, label, func(f *facts, tell func(float64, ...string)) {
		pools := f.pools()
		for i := range f.lanes {
			pools[f.lanes[i].Pool] = max(pools[f.lanes[i].Pool], f.waited(&f.lanes[i]).Seconds())
		}
		tellAll(pools, tell)
	})
	c.add(prometheus.GaugeValue, "work_capacity", "How much may be done at a time, by pool.", label, func(f *facts, tell func(float64, ...string)) {
		pools := f.pools()
		for name, n := range f.capacity {
			pools[name] = float64(n)
		}
		tellAll(pools, tell)
	})
	states := func(over bool) func(*facts, func(float64, ...string)) {
		return func(f *facts, tell func(float64, ...string)) {
			for _, state := range []run.State{run.Queued, run.Running, run.OK, run.Failed, run.Aborted, run.TimedOut} {
				if f.err == nil && state.Over() == over {
					tell(float64(f.runs[state]), string(state))
				}
			}
		}
	}
	c.add(prometheus.CounterValue, "runs_total", "Runs of agents that have ended, by how.", []string{"state"}, states(true))
	c.add(prometheus.GaugeValue, "runs_open", "Runs of agents that have not ended.", []string{"state"}, states(false))
}

// pools are those of the configuration, with nothing in them.
func (f *facts) pools() map[string]float64 {
	pools := map[string]float64{}
	for name := range f.capacity {
		pools[name] = 0
	}
	return pools
}

func tellAll(values map[string]float64, tell func(float64, ...string)) {
	for _, label := range slices.Sorted(maps.Keys(values)) {
		tell(values[label], label)
	}
}

// waited is how long the first that waits in a lane has waited. Flows wait on purpose: of them it is how long the first is overdue.
func (f *facts) waited(l *work.Lane) time.Duration {
	since := l.Since
	if l.Pool == decide.PoolJobs {
		since = f.firstDue(l.Pool)
	}
	if l.Waiting == 0 || since == 0 {
		return 0
	}
	return max(f.at.Sub(time.UnixMilli(since)), 0)
}

// firstDue is when the first of a pool may be begun, ms since 1970; 0: nothing is known of one.
func (f *facts) firstDue(pool string) (first int64) {
	for i := range f.heads {
		if h := &f.heads[i]; h.Pool == pool && h.Free && h.ReadyAt > 0 && (first == 0 || h.ReadyAt < first) {
			first = h.ReadyAt
		}
	}
	return first
}
