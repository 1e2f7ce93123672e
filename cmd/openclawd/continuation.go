package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/services/continuer"
)

func newContinuation(p *process) *cobra.Command {
	var a serverFlags
	cmd := &cobra.Command{
		Use:   "continuation",
		Short: "Show each agent's next continuation step and why",
		Long: `Lists the agents that may have tasks, with the server's next step to keep each one working, the reason, and when the passage of time alone may
change it; events may change it earlier. Asks the running server; without one it reads the database and openclaw.json, and says so: what only a
server knows, such as when it was restarted, is then missing. A server that follows another gateway continues no agents.

The settings are agents.defaults.taskContinuation of openclaw.json.

Exit codes: 0 shown; 1 failed; 78 the configuration cannot be used.`,
		Example: `  openclawd continuation
  openclawd continuation --json
  openclawd continuation explain eden`,
		Args: subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.continuation(cmd.Context(), a) },

		SuggestionsMinimumDistance: nearEnough,
	}
	a.addFlags(cmd)
	cmd.AddCommand(newContinuationExplain(p))
	return cmd
}

// continuationReport is the JSON output of continuation.
type continuationReport struct {
	Source string                       `json:"source"` // server, file
	Note   string                       `json:"note,omitempty"`
	Agents []monitor.ContinuationAnswer `json:"agents"`
	Count  int                          `json:"count"`
}

func (p *process) continuation(ctx context.Context, a serverFlags) error {
	place, err := p.place(a)
	if err != nil {
		return err
	}
	report := continuationReport{Source: "server"}
	report.Agents, err = place.Continuations(ctx)
	if alone, ok := errors.AsType[*apiclient.NoServerError](err); ok && a.api == "" {
		report.Source, report.Note = "file", unserved(alone, place)
		err = p.readContinuation(ctx, place, func(tx *sql.Tx, explain monitor.Explain) (err error) {
			var named []string
			for i := range place.Config.Agents {
				named = append(named, place.Config.Agents[i].ID)
			}
			report.Agents, err = monitor.Continuations(ctx, tx, append(named, place.Config.DefaultAgentID()), explain)
			return err
		})
	}
	if err != nil {
		return err
	}
	report.Count = len(report.Agents)
	if a.asJSON {
		return output.JSON(p.stdout, report)
	}
	return p.writeContinuation(&report)
}

// unserved notes that no server was asked, and what was read instead.
func unserved(why *apiclient.NoServerError, place *apiclient.Place) string {
	return why.Why + ": no agent is being continued now; read from " + place.DB + ", without what only a server knows"
}

// readContinuation computes the decisions from the database and the configuration of a place, as its server would.
func (p *process) readContinuation(ctx context.Context, at *apiclient.Place, read func(*sql.Tx, monitor.Explain) error) error {
	if err := at.Findings.Err(); err != nil {
		return settings.Unusable(at.Config.File, err)
	}
	log, err := p.openToRead(ctx, at.DB)
	if err != nil {
		return err
	}
	defer log.Close()
	return log.View(ctx, func(tx *sql.Tx) error {
		return read(tx, func(ctx context.Context, tx *sql.Tx, agent string) (continuation.Explained, bool, error) {
			return continuer.Explain(ctx, tx, at.Config, agent, p.now(), time.Time{})
		})
	})
}

func (p *process) writeContinuation(report *continuationReport) error {
	if len(report.Agents) == 0 {
		if _, err := fmt.Fprintln(p.stdout, "no agent may have tasks: openclaw.json has only utility agents"); err != nil {
			return err
		}
		return p.writeNote(report.Note)
	}
	rows := make([][]string, len(report.Agents))
	for i := range report.Agents {
		c := &report.Agents[i]
		rows[i] = []string{c.AgentID, string(c.Decision.Kind), string(c.Decision.Reason), c.Decision.TaskID,
			countOrNone(c.State.ConsecutiveFailures), pauseOf(c), nextCheck(c)}
	}
	if err := output.Table(p.stdout, []string{"AGENT", "NOW", "WHY", "TASK", "FAILURES", "BACK-OFF UNTIL", "LOOKS AGAIN"}, rows); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(p.stdout, output.Count(int64(len(report.Agents)), "agent")+"; openclawd continuation explain AGENT shows details"); err != nil {
		return err
	}
	return p.writeNote(report.Note)
}

// writeNote writes a note, unless it is empty.
func (p *process) writeNote(note string) error {
	if note == "" {
		return nil
	}
	_, err := fmt.Fprintln(p.stdout, output.Printable(note))
	return err
}

// pauseOf is when an agent's back-off ends; "" if it has ended.
func pauseOf(c *monitor.ContinuationAnswer) string {
	if c.State.BackoffUntilMs <= c.AtMs {
		return ""
	}
	return output.Time(c.State.BackoffUntilMs)
}

// nextCheck is when the passage of time alone may change the decision.
func nextCheck(c *monitor.ContinuationAnswer) string {
	switch {
	case c.Decision.LookAgainAtMs > 0:
		return "in " + output.Duration(c.Decision.LookAgainAtMs-c.AtMs)
	case c.Decision.Kind == "nothing":
		return "after an event"
	}
	return "now"
}
