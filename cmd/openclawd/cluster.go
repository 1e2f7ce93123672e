package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/internal/output"
)

func newCluster(p *process) *cobra.Command {
	return newGroup("cluster", "Show the nodes of a cluster, and choose which one writes",
		newClusterStatus(p), newPromote(p), newStepDown(p))
}

func newClusterStatus(p *process) *cobra.Command {
	var a serverFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what each node does, how far it is, and which one writes",
		Long: `Asks the server of this state directory, which must be running. What it knows of other nodes is at most some seconds old; nodes that ended
are not listed, unless only people can repair them.

Exit codes: 0 shown, whatever the state; 1 failed, or the server is no node of a cluster.`,
		Example: "  openclawd cluster status\n  openclawd cluster status --api 127.0.0.1:3847 --json",
		Args:    positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			place, err := p.place(a)
			if err != nil {
				return err
			}
			state, err := place.Cluster(cmd.Context())
			if err != nil {
				return err
			}
			return p.writeCluster(&a, &state)
		},
	}
	a.addFlags(cmd)
	return cmd
}

func newPromote(p *process) *cobra.Command {
	var (
		a     serverFlags
		force bool
	)
	cmd := &cobra.Command{
		Use:   "promote",
		Short: "Make the node of this state directory the one that writes",
		Long: `The node that writes ends its services in order and gives its role to this one, which must have all events. With --force a node that cannot be
asked loses its role without being asked: the shared log refuses what it appends afterwards.

Exit codes: 0 it writes; 1 it does not; 78 the server requires another write token (TASK_MONITOR_WRITE_TOKEN).`,
		Example: "  openclawd cluster promote\n  openclawd cluster promote --force --json",
		Args:    positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			place, err := p.place(a)
			if err != nil {
				return err
			}
			state, err := place.Promote(cmd.Context(), force, roleTime)
			if err != nil {
				return err
			}
			return p.writeCluster(&a, &state)
		},
	}
	a.addFlags(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "also if the node that writes cannot be asked to step down")
	return cmd
}

// roleTime is how long a node may take to get another role.
const roleTime = 30 * time.Second

func newStepDown(p *process) *cobra.Command {
	var a serverFlags
	cmd := &cobra.Command{
		Use:   "step-down",
		Short: "Have the node of this state directory stop writing, in favor of another",
		Long: `The node ends its services in order and follows from then on. Another node that has all events takes over; if none does, this one does again
after the time of the lease.

Exit codes: 0 done; 1 it did not write, or failed; 78 the server requires another write token (TASK_MONITOR_WRITE_TOKEN).`,
		Example: "  openclawd cluster step-down\n  openclawd cluster step-down --json",
		Args:    positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			place, err := p.place(a)
			if err != nil {
				return err
			}
			state, err := place.StepDown(cmd.Context())
			if err != nil {
				return err
			}
			return p.writeCluster(&a, &state)
		},
	}
	a.addFlags(cmd)
	return cmd
}

func (p *process) writeCluster(a *serverFlags, s *health.ClusterState) error {
	if a.asJSON {
		return output.JSON(p.stdout, s)
	}
	rows, problems := make([][]string, len(s.Nodes)), ""
	for i := range s.Nodes {
		n := &s.Nodes[i]
		rows[i] = []string{n.Node, string(n.Role), fmt.Sprint(n.Seq), fmt.Sprint(n.Epoch), fmt.Sprintf("%.12s", n.Hash), n.At.API, ago(p.now(), time.UnixMilli(n.SaidMs))}
		if n.Error != "" {
			problems += fmt.Sprintf("node %s: %s\n", n.Node, oneLine(n.Error))
		}
	}
	if err := output.Table(p.stdout, []string{"NODE", "ROLE", "EVENT", "EPOCH", "HASH", "API", "SAID"}, rows); err != nil {
		return err
	}
	if s.Error != "" {
		problems += "the shared log: " + oneLine(s.Error) + "\n"
	}
	_, err := fmt.Fprintf(p.stdout, "%sthis is node %s, %s; node %s writes since epoch %d; lag %s\n", problems, s.Node, s.Role,
		cmp.Or(s.Writer, "(none)"), s.Epoch, output.Count(s.Lag, "event"))
	return err
}
