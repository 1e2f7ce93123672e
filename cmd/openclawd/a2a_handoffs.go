package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/monitor"
	flows "github.com/pronto-lab/openclawd/projections/a2a"
)

// handoffListing holds the flags of a2a handoffs.
type handoffListing struct {
	stateDir, db       string
	agent, workSession string
	open, asJSON       bool
	limit              int
}

func newA2AHandoffs(p *process) *cobra.Command {
	var l handoffListing
	cmd := &cobra.Command{
		Use:   "handoffs",
		Short: "List what agents have delegated and asked, and what came back, the newest first",
		Long: `Lists structured handoffs, from the database; works beside a running server and without one: tasks that were delegated, with their newest
status, and questions, with whether they were answered. What was said in free text alone is not among them.`,
		Example: `  openclawd a2a handoffs
  openclawd a2a handoffs --agent seum --open
  openclawd a2a handoffs --work-session ws_1 --json`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.listHandoffs(cmd.Context(), l) },
	}
	flags := cmd.Flags()
	addSessionsPlace(cmd, &l.stateDir, &l.db)
	flags.StringVar(&l.agent, "agent", "", "`ID` of an agent that gave or got it")
	flags.StringVar(&l.workSession, "work-session", "", "`ID` of the work session")
	flags.BoolVar(&l.open, "open", false, "leave out what was answered or has failed")
	flags.IntVar(&l.limit, "limit", 50, "at most `N`, 1 to 1000")
	flags.BoolVar(&l.asJSON, jsonFlag, false, "answer in JSON")
	p.completeFlag(cmd, "agent", func(context.Context) []cobra.Completion { return p.completeConfigured(l.stateDir) })
	return cmd
}

// handoffsAnswer is the answer of a2a handoffs.
type handoffsAnswer struct {
	Handoffs []monitor.HandoffAnswer `json:"handoffs"`
	Count    int                     `json:"count"`
}

func (p *process) listHandoffs(ctx context.Context, l handoffListing) error {
	if err := checkLimit(l.limit, maxFlows); err != nil {
		return err
	}
	q := flows.HandoffQuery{Agent: strings.ToLower(l.agent), WorkSessionID: strings.TrimPrefix(l.workSession, "ws:"), Open: l.open, Limit: l.limit}
	var list []flows.Handoff
	err := p.readSessions(ctx, l.stateDir, l.db, func(tx *sql.Tx) (err error) {
		list, err = flows.Handoffs(ctx, tx, q)
		return err
	})
	if err != nil {
		return err
	}
	if !l.asJSON {
		return p.writeHandoffs(list, &l)
	}
	answer := handoffsAnswer{Handoffs: []monitor.HandoffAnswer{}, Count: len(list)}
	for i := range list {
		answer.Handoffs = append(answer.Handoffs, monitor.HandoffAnswerOf(&list[i]))
	}
	return output.JSON(p.stdout, answer)
}

const subjectCells = 40 // of a terminal

func (p *process) writeHandoffs(list []flows.Handoff, l *handoffListing) error {
	if len(list) == 0 {
		text := "no agent of ours has handed anything to another yet: sessions_send does it with payloadJson"
		if l.agent+l.workSession != "" || l.open {
			text = "no handoff is like that; openclawd a2a handoffs lists all"
		}
		_, err := fmt.Fprintln(p.stdout, text)
		return err
	}
	now := p.now()
	rows := make([][]string, len(list))
	for i := range list {
		h := &list[i]
		state := h.State
		if h.Status != "" {
			state += " (" + h.Status + ")"
		}
		answered := ""
		if h.AnsweredAt > 0 {
			answered = span(h.AnsweredAt - h.At)
		}
		rows[i] = []string{output.Cut(output.Printable(h.Subject), subjectCells), string(h.Type), h.From + " → " + h.To, state, ago(now, time.UnixMilli(h.At)), answered, h.JobID}
	}
	if err := output.Table(p.stdout, []string{"SUBJECT", "TYPE", "WHO", "STATE", "ASKED", "ANSWERED AFTER", "JOB"}, rows); err != nil {
		return err
	}
	if len(list) == l.limit {
		_, err := fmt.Fprintf(p.stdout, "the newest %s; --limit %d lists more\n", output.Count(int64(len(list)), "handoff"), maxFlows)
		return err
	}
	_, err := fmt.Fprintln(p.stdout, output.Count(int64(len(list)), "handoff"))
	return err
}
