package apiclient

import (
	"context"
	"time"

	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// roleTime is how long a node may take to get another role.
const roleTime = 40 * time.Second

// Cluster returns the state of the cluster as the place's server knows it. It returns the errors of read.
func (p *Place) Cluster(ctx context.Context) (s health.ClusterState, err error) {
	err = p.read(ctx, "/api/cluster", &s)
	return s, err
}

// StepDown has the place's server give the writer's role to another node, and returns the state afterwards. It returns
// the errors of change.
func (p *Place) StepDown(ctx context.Context) (health.ClusterState, error) {
	return p.changeRole(ctx, "/api/cluster/step-down")
}

// Promote makes the place's server the writer, and returns the state when it is that, or after some time. It returns the
// errors of change.
func (p *Place) Promote(ctx context.Context, force bool, patience time.Duration) (s health.ClusterState, err error) {
	path := "/api/cluster/promote"
	if force {
		path += "?force=true"
	}
	if s, err = p.changeRole(ctx, path); err != nil {
		return s, err
	}
	for late := time.Now().Add(patience); s.Role != health.ClusterWriter && time.Now().Before(late); {
		if err := wait.For(ctx, asksEvery); err != nil {
			return s, err
		}
		if next, err := p.Cluster(ctx); err == nil { // the server answers nothing while it gets its role
			s = next
		}
	}
	if s.Role != health.ClusterWriter {
		return s, &RefusedError{Text: "node " + s.Node + " is still " + string(s.Role), Why: "role_unchanged", HintText: "openclawd cluster status shows what the nodes do; it may still happen"}
	}
	return s, nil
}

// asksEvery is how often the server is asked for its role.
const asksEvery = 200 * time.Millisecond

func (p *Place) changeRole(ctx context.Context, path string) (health.ClusterState, error) {
	var answer struct{ Cluster health.ClusterState }
	err := p.changeWithin(ctx, roleTime, path, nil, &answer)
	return answer.Cluster, err
}
