package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/client"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
)

// defaultHealthTime is how long healthcheck waits for an answer; Docker gives up after 30 s unless it is told otherwise.
const defaultHealthTime = 5 * time.Second

// checkingHealth holds the flags of healthcheck.
type checkingHealth struct {
	asking
	ready   bool
	timeout time.Duration
}

func newHealthcheck(p *process) *cobra.Command {
	var c checkingHealth
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Say in one line whether the server answers; for HEALTHCHECK of Docker",
		Long: `Asks the running server for GET /healthz, with --ready for GET /readyz, and says in one line what it answers. The server is found as by
other commands: where the lock of the database says, or the configuration.

Restart what is not healthy; do not restart what is not ready, for most of what --ready tells is mended otherwise.

Exit codes: 0 it is healthy, with --ready also ready (warnings do not count); 1 it is not, or does not answer.`,
		Example: `  openclawd healthcheck
  openclawd healthcheck --ready --api http://127.0.0.1:3847
  HEALTHCHECK CMD ["/openclawd", "healthcheck"]`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.timeout <= 0 {
				return &settings.Error{Setting: "--timeout", Value: c.timeout.String(), Mend: "give how long to wait, e.g. 5s"}
			}
			return p.healthcheck(cmd.Context(), c)
		},
	}
	c.addFlags(cmd)
	cmd.Flags().BoolVar(&c.ready, "ready", false, "ask whether it is ready, too")
	cmd.Flags().DurationVar(&c.timeout, "timeout", defaultHealthTime, "`TIME` to wait for the answer")
	return cmd
}

func (p *process) healthcheck(ctx context.Context, c checkingHealth) error {
	place, err := p.place(c.asking)
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

// unhealthyError says that the server does not answer, or answers that it is not well. It is one line: supervisors keep it.
type unhealthyError struct{ health client.Health }

func (e *unhealthyError) Error() string { return e.health.What }
func (*unhealthyError) Code() string    { return "unhealthy" }
func (*unhealthyError) Hint() string    { return "" }
