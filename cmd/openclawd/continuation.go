package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/client"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/tools/continuation"
)

func newContinuation(p *process) *cobra.Command {
	var a asking
	cmd := &cobra.Command{
		Use:   "continuation",
		Short: "Say what would be done about each agent so that it goes on with its tasks",
		Long: `Lists the agents that may have tasks, with what the server would do now so that each goes on, why, and when time alone may change that;
events may do so before. Asks the running server; without one it reads the database and openclaw.json, and says so: what only a server knows, as
when it was restarted, is then missing. A server that follows another gateway keeps nobody going.

The settings are agents.defaults.taskContinuation of openclaw.json.

Exit codes: 0 it could be said; 1 it could not; 78 the configuration cannot be used.`,
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

// continuationReport is the answer of continuation.
type continuationReport struct {
	Source string                       `json:"source"` // server, file
	Note   string                       `json:"note,omitempty"`
	Agents []monitor.ContinuationAnswer `json:"agents"`
	Count  int                          `json:"count"`
}

func (p *process) continuation(ctx context.Context, a asking) error {
	place, err := p.place(a)
	if err != nil {
		return err
	}
	report := continuationReport{Source: "server"}
	report.Agents, err = place.Continuations(ctx)
	if alone, ok := errors.AsType[*client.NoServerError](err); ok && a.api == "" {
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

// unserved says that no server was asked, and what was read in its place.
func unserved(why *client.NoServerError, place *client.Place) string {
	return why.Why + ": nobody is kept going now; read from " + place.DB + ", without what only a server knows"
}

// readContinuation has read decide by the database and the configuration of a place, as its server would.
func (p *process) readContinuation(ctx context.Context, at *client.Place, read func(*sql.Tx, monitor.Explain) error) error {
	if err := at.Findings.Err(); err != nil {
		return settings.Unusable(at.Config.File, err)
	}
	log, err := p.openToRead(ctx, at.DB)
	if err != nil {
		return err
	}
	defer log.Close()
	return log.View(ctx, func(tx *sql.Tx) error {
		return read(tx, func(ctx context.Context, tx *sql.Tx, agent string) (monitor.Explained, bool, error) {
			e, kept, err := continuation.Explain(ctx, tx, at.Config, agent, p.now(), time.Time{})
			return monitor.Explained(e), kept, err
		})
	})
}

func (p *process) writeContinuation(report *continuationReport) error {
	if len(report.Agents) == 0 {
		if _, err := fmt.Fprintln(p.stdout, "no agent may have tasks: openclaw.json names none that is not a utility"); err != nil {
			return err
		}
		return p.writeNote(report.Note)
	}
	rows := make([][]string, len(report.Agents))
	for i := range report.Agents {
		c := &report.Agents[i]
		rows[i] = []string{c.AgentID, string(c.Decision.Kind), string(c.Decision.Reason), c.Decision.TaskID,
			countOrNone(c.State.ConsecutiveFailures), pauseOf(c), looksAgain(c)}
	}
	if err := output.Table(p.stdout, []string{"AGENT", "NOW", "WHY", "TASK", "FAILURES", "BACK-OFF UNTIL", "LOOKS AGAIN"}, rows); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(p.stdout, output.Count(int64(len(report.Agents)), "agent")+"; openclawd continuation explain AGENT tells more"); err != nil {
		return err
	}
	return p.writeNote(report.Note)
}

// writeNote writes what is to be known of an answer; nothing for none.
func (p *process) writeNote(note string) error {
	if note == "" {
		return nil
	}
	_, err := fmt.Fprintln(p.stdout, output.Printable(note))
	return err
}

// pauseOf is when the back-off of an agent ends; "" where there is none any more.
func pauseOf(c *monitor.ContinuationAnswer) string {
	if c.State.BackoffUntilMs <= c.AtMs {
		return ""
	}
	return output.Time(c.State.BackoffUntilMs)
}

// looksAgain is when time alone may change what is done.
func looksAgain(c *monitor.ContinuationAnswer) string {
	switch {
	case c.Decision.LookAgainAtMs > 0:
		return "in " + span(c.Decision.LookAgainAtMs-c.AtMs)
	case c.Decision.Kind == "nothing":
		return "after an event"
	}
	return "now"
}
