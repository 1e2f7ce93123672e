package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/internal/output"
)

// defaultHealthTime is the default timeout of healthcheck; Docker's own default is 30 s.
const defaultHealthTime = 5 * time.Second

type healthFlags struct {
	serverFlags
	ready   bool
	timeout time.Duration
}

func newHealthcheck(p *process) *cobra.Command {
	var c healthFlags
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Check whether the server is healthy; for Docker's HEALTHCHECK",
		Long: `Requests GET /healthz from the running server, with --ready GET /readyz, and prints the result in one line. The server is found as by other
commands: through the lock of the database, or the configuration.

Restart a server that is not healthy; do not restart one that is not ready, because a restart rarely fixes what --ready reports.

Exit codes: 0 healthy, with --ready also ready (warnings do not count); 1 not healthy, or no answer.`,
		Example: `  openclawd healthcheck
  openclawd healthcheck --ready --api http://127.0.0.1:3847
  HEALTHCHECK CMD ["/openclawd", "healthcheck"]`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.timeout <= 0 {
				return &config.SettingError{Setting: "--timeout", Value: c.timeout.String(), HintText: "give a timeout, e.g. 5s"}
			}
			return p.healthcheck(cmd.Context(), c)
		},
	}
	c.addFlags(cmd)
	cmd.Flags().BoolVar(&c.ready, "ready", false, "also check whether it is ready")
	cmd.Flags().DurationVar(&c.timeout, "timeout", defaultHealthTime, "time limit `TIME` for the answer")
	return cmd
}

func (p *process) healthcheck(ctx context.Context, c healthFlags) error {
	place, err := p.place(c.serverFlags)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, c.timeout)
	defer stop()
	health := place.Health(ctx, c.ready)
	if !health.Healthy {
		return &unhealthyError{health}
	}
	if c.asJSON {
		return output.JSON(p.stdout, health)
	}
	_, err = fmt.Fprintf(p.stdout, "%s\n", health.What)
	return err
}

// unhealthyError reports that the server does not answer or is not healthy. It is one line, because supervisors store
// it.
type unhealthyError struct{ health apiclient.Health }

func (e *unhealthyError) Error() string { return e.health.What }
func (*unhealthyError) Code() string    { return "unhealthy" }
func (*unhealthyError) Hint() string    { return "" }
