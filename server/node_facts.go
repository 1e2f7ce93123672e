package server

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronto-lab/openclawd/cluster"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/internal/output"
)

// clusterLag is from how many missing events on a node is not ready to answer reads.
const clusterLag = 1_000

// clusterState is the state of the node; nil if the server is none.
func (p *Program) clusterState() *health.ClusterState {
	if p.node == nil {
		return nil
	}
	s := nodeState{p}.State()
	return &s
}

// clusterReasons reports what impairs the cluster, as this node knows it.
func (f *facts) clusterReasons() (list []health.Reason) {
	s := f.cluster
	if s == nil {
		return nil
	}
	if s.Error != "" {
		list = append(list, health.Reason{Code: health.CodeSharedUnavailable, What: "the shared log cannot be used: " + s.Error,
			Hint: "appends fail and reads go on until it can; look at its servers"})
	}
	if s.Lag > clusterLag {
		list = append(list, health.Reason{Code: health.CodeNodeBehind, What: "this node lacks " + output.Count(s.Lag, "event") + " that others have",
			Hint: "wait: it is catching up; else check the load of this machine and its way to the shared log"})
	}
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Role == cluster.Out {
			list = append(list, health.Reason{Code: health.CodeNodeOut, Subject: n.Node, What: fmt.Sprintf("node %s has stopped at event %d: %s", n.Node, n.Seq, n.Error),
				Hint: "keep a copy of its database, then fill a new one from the shared log or from the backup of another node"})
		}
	}
	return list
}

func (c *metricsCollector) addCluster() {
	each := func(kind prometheus.ValueType, name, help string, value func(*health.ClusterState) int64) {
		c.add(kind, "cluster_"+name, help, nil, func(f *facts, tell func(float64, ...string)) {
			if f.cluster != nil {
				tell(float64(value(f.cluster)))
			}
		})
	}
	each(prometheus.GaugeValue, "writer", "1 on the node that writes.", func(s *health.ClusterState) int64 {
		if s.Role == cluster.Writer {
			return 1
		}
		return 0
	})
	each(prometheus.GaugeValue, "epoch", "Epoch of the newest record of the shared log that this node has.", func(s *health.ClusterState) int64 { return s.Epoch })
	each(prometheus.GaugeValue, "lag_events", "Events that another node has and this one lacks.", func(s *health.ClusterState) int64 { return s.Lag })
	each(prometheus.GaugeValue, "nodes", "Nodes that this one knows of, with itself.", func(s *health.ClusterState) int64 { return int64(len(s.Nodes)) })
	each(prometheus.CounterValue, "takeovers_total", "Times that this node became the writer, since the start.", func(s *health.ClusterState) int64 { return s.Takeovers })
	each(prometheus.CounterValue, "commits_total", "Records appended to the shared log since the start.", func(s *health.ClusterState) int64 { return s.Commits })
	each(prometheus.CounterValue, "conflicts_total", "Records that the shared log refused since the start, because another node writes.",
		func(s *health.ClusterState) int64 { return s.Conflicts })
	each(prometheus.CounterValue, "failures_total", "Records that the shared log did not take, or without an answer, since the start.",
		func(s *health.ClusterState) int64 { return s.Failures })
}
