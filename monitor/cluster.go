package monitor

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Cluster is the node that this server is of a cluster. Its errors have a code and a hint.
type Cluster interface {
	State() health.ClusterState
	// StepDown has the writer give its role to another node.
	StepDown(ctx context.Context) error
	// Promote has this node become the writer; State tells when it is. force does not ask a writer that cannot be reached.
	Promote(ctx context.Context, force bool) error
}

const clusterPath = "/api/cluster"

// roleTime is how long a node may take to get another role.
const roleTime = 30 * time.Second

// clusterAnswer answers changes of roles.
type clusterAnswer struct {
	OK      bool                `json:"ok"`
	Cluster health.ClusterState `json:"cluster"`
}

// showCluster answers GET /api/cluster.
func (s *Server) showCluster(c echo.Context) error {
	if s.opts.Cluster == nil {
		return noCluster()
	}
	s.position(c)
	return writeJSON(c, http.StatusOK, s.opts.Cluster.State())
}

func noCluster() *problem {
	return &problem{Status: http.StatusNotFound, Code: "no_cluster", Message: "This server is no node of a cluster",
		Hint: "set cluster in openclaw.json, and restart it"}
}

// stepDown answers POST /api/cluster/step-down.
func (s *Server) stepDown(c echo.Context) error {
	if !skipBody(c) {
		return tooLarge()
	}
	return s.changeRole(c, func(ctx context.Context) error { return s.opts.Cluster.StepDown(ctx) })
}

// promote answers POST /api/cluster/promote.
func (s *Server) promote(c echo.Context) error {
	p := parametersOf(c)
	force := p.word("force", "true", "false") == "true"
	switch {
	case p.err != nil:
		return p.err
	case !skipBody(c):
		return tooLarge()
	}
	return s.changeRole(c, func(ctx context.Context) error { return s.opts.Cluster.Promote(ctx, force) })
}

// changeRole does what changes the role of this node. The server that answers may end for that: then the client asks for
// the state.
func (s *Server) changeRole(c echo.Context, change func(context.Context) error) error {
	if s.opts.Cluster == nil {
		return noCluster()
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(c.Request().Context()), roleTime)
	defer stop()
	err := change(ctx)
	var coded eventstore.Coded
	switch {
	case errors.As(err, &coded):
		return &problem{Status: http.StatusConflict, Code: coded.Code(), Message: err.Error(), Hint: coded.Hint()}
	case err != nil:
		return err
	}
	return writeJSON(c, http.StatusOK, clusterAnswer{true, s.opts.Cluster.State()})
}
