package apiclient

import (
	"context"
	"time"

	"github.com/pronto-lab/openclawd/coordination/health"
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

// Promote makes the place's server the writer, and returns the state afterwards. It returns the errors of change.
func (p *Place) Promote(ctx context.Context, force bool) (health.ClusterState, error) {
	path := "/api/cluster/promote"
	if force {
		path += "?force=true"
	}
	return p.changeRole(ctx, path)
}

func (p *Place) changeRole(ctx context.Context, path string) (health.ClusterState, error) {
	var answer struct{ Cluster health.ClusterState }
	err := p.changeWithin(ctx, roleTime, path, nil, &answer)
	return answer.Cluster, err
}
