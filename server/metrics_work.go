package server

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// addWork adds metrics of waiting and running work. Agents are not a label: there may be many; GET /api/status names
// them.
func (c *metricsCollector) addWork() {
	label := []string{"pool"}
	for _, m := range []struct {
		name, help string
		value      func(*workqueue.Lane) int
	}{
		{"waiting", "Waiting work items, by pool.", func(l *workqueue.Lane) int { return l.Waiting }},
		{"leased", "Running work items, by pool.", func(l *workqueue.Lane) int { return l.Leased }},
		{"dead", "Dead letters, by pool.", func(l *workqueue.Lane) int { return l.Dead }},
	} {
		c.add(prometheus.GaugeValue, "work_"+m.name, m.help, label, func(f *facts, tell func(float64, ...string)) {
			pools := f.pools()
			for i := range f.lanes {
				pools[poolLabel(f.lanes[i].Pool)] += float64(m.value(&f.lanes[i]))
			}
			addAll(pools, tell)
		})
	}
	const oldest = "Age of the oldest waiting work item, by pool; in the pool of flows between agents, the time it is overdue."
	c.add(prometheus.GaugeValue, "work_oldest_wait_seconds", oldest, label, func(f *facts, tell func(float64, ...string)) {
		pools := f.pools()
		for i := range f.lanes {
			pools[poolLabel(f.lanes[i].Pool)] = max(pools[poolLabel(f.lanes[i].Pool)], f.waited(&f.lanes[i]).Seconds())
		}
		addAll(pools, tell)
	})
	c.add(prometheus.GaugeValue, "work_capacity", "Maximum number of concurrent work items, by pool.", label, func(f *facts, tell func(float64, ...string)) {
		pools := f.pools()
		for name, n := range f.capacity {
			pools[poolLabel(name)] += float64(n)
		}
		addAll(pools, tell)
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
	c.add(prometheus.CounterValue, "runs_total", "Finished runs of agents, by outcome.", []string{"state"}, states(true))
	c.add(prometheus.GaugeValue, "runs_open", "Unfinished runs of agents.", []string{"state"}, states(false))
}

func (f *facts) pools() map[string]float64 {
	pools := map[string]float64{}
	for name := range f.capacity {
		pools[poolLabel(name)] = 0
	}
	return pools
}

func addAll(values map[string]float64, tell func(float64, ...string)) {
	for _, label := range slices.Sorted(maps.Keys(values)) {
		tell(values[label], label)
	}
}

// waited is the age of the oldest item waiting in a lane. Flows wait on purpose: for them it is the time the first one
// is overdue.
func (f *facts) waited(l *workqueue.Lane) time.Duration {
	since := l.Since
	if l.Pool == work.PoolJobs {
		since = f.firstDue(l.Pool)
	}
	if l.Waiting == 0 || since == 0 {
		return 0
	}
	return max(f.at.Sub(time.UnixMilli(since)), 0)
}

// firstDue is when the first item of a pool is due, ms since 1970; 0: unknown.
func (f *facts) firstDue(pool string) (first int64) {
	for i := range f.heads {
		if h := &f.heads[i]; h.Pool == pool && h.Free && h.ReadyAt > 0 && (first == 0 || h.ReadyAt < first) {
			first = h.ReadyAt
		}
	}
	return first
}
