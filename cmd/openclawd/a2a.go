package main

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	flow "github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/monitor"
	flows "github.com/pronto-lab/openclawd/projections/a2a"
)

func newA2A(p *process) *cobra.Command {
	return newGroup("a2a", "Look at what agents say to each other, and end it",
		newA2AList(p), newA2AShow(p), newA2ACancel(p), newA2AHandoffs(p))
}

// flowListing holds the flags of a2a list.
type flowListing struct {
	stateDir, db              string
	kind, from, to            string
	conversation, workSession string
	open, asJSON              bool
	limit                     int
}

const maxFlows = 1_000 // in one answer

func newA2AList(p *process) *cobra.Command {
	var l flowListing
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the flows between agents, the newest first",
		Long: `Lists flows between agents, from the database; works beside a running server and without one. A flow is a message from one agent to
another with all that follows from it (send), or work for a sub-agent (spawn). It waits for a permit of its target (dispatching), for the first
answer (waiting), for turns of ping-pong (turn), for what is to be posted (announcing, posting), and then is over, with an outcome.

The log, the API and the database call a flow a job: JOB is its id. What agents of an imported log have said is in no flow of ours;
openclawd trace shows it.`,
		Example: `  openclawd a2a list
  openclawd a2a list --open --to seum
  openclawd a2a list --work-session ws_1 --kind send --json`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.listFlows(cmd.Context(), l) },
	}
	flags := cmd.Flags()
	addSessionsPlace(cmd, &l.stateDir, &l.db)
	flags.StringVar(&l.kind, "kind", "", "only of this `KIND`: send, spawn")
	flags.StringVar(&l.from, "from", "", "`ID` of the agent that has asked")
	flags.StringVar(&l.to, "to", "", "`ID` of the agent that was asked")
	flags.StringVar(&l.conversation, "conversation", "", "`ID` of the conversation")
	flags.StringVar(&l.workSession, "work-session", "", "`ID` of the work session")
	flags.BoolVar(&l.open, "open", false, "leave out what is over")
	flags.IntVar(&l.limit, "limit", 50, "at most `N`, 1 to 1000")
	flags.BoolVar(&l.asJSON, jsonFlag, false, "answer in JSON")
	p.completeFlag(cmd, "kind", func(context.Context) []cobra.Completion {
		return []cobra.Completion{string(flow.Send), string(flow.Spawn)}
	})
	for _, agent := range []string{"from", "to"} {
		p.completeFlag(cmd, agent, func(context.Context) []cobra.Completion { return p.completeConfigured(l.stateDir) })
	}
	return cmd
}

// query reads what is asked for.
func (l *flowListing) query() (q flows.Query, err error) {
	if err := checkLimit(l.limit, maxFlows); err != nil {
		return q, err
	}
	kind := flow.Kind(l.kind)
	if kind != "" && kind != flow.Send && kind != flow.Spawn {
		return q, &settings.Error{Setting: "--kind", Value: l.kind, Mend: "choose from send, spawn"}
	}
	return flows.Query{Kind: kind, Open: l.open, From: strings.ToLower(l.from), To: strings.ToLower(l.to), ConversationID: l.conversation,
		WorkSessionID: strings.TrimPrefix(l.workSession, "ws:"), Limit: l.limit}, nil
}

// checkLimit refuses a --limit that is not from 1 to most.
func checkLimit(limit, most int) error {
	if limit < 1 || limit > most {
		return &settings.Error{Setting: "--limit", Value: strconv.Itoa(limit), Mend: fmt.Sprintf("give 1 to %d", most)}
	}
	return nil
}

// flowsAnswer is the answer of a2a list.
type flowsAnswer struct {
	Jobs  []monitor.FlowAnswer `json:"jobs"`
	Count int                  `json:"count"`
}

func (p *process) listFlows(ctx context.Context, l flowListing) error {
	q, err := l.query()
	if err != nil {
		return err
	}
	var list []flows.Row
	err = p.readSessions(ctx, l.stateDir, l.db, func(tx *sql.Tx) (err error) {
		list, err = flows.List(ctx, tx, q)
		return err
	})
	if err != nil {
		return err
	}
	if !l.asJSON {
		return p.writeFlows(list, &l)
	}
	answer := flowsAnswer{Jobs: []monitor.FlowAnswer{}, Count: len(list)}
	for i := range list {
		answer.Jobs = append(answer.Jobs, monitor.FlowAnswerOf(&list[i]))
	}
	return output.JSON(p.stdout, answer)
}

const previewCells = 60 // of a terminal

func (p *process) writeFlows(list []flows.Row, l *flowListing) error {
	if len(list) == 0 {
		text := "no agent of ours has written to another yet: they do with the tool sessions_send, and so can you: openclawd tools call --help"
		if l.kind+l.from+l.to+l.conversation+l.workSession != "" || l.open {
			text = "no flow is like that; openclawd a2a list lists all"
		}
		_, err := fmt.Fprintln(p.stdout, text)
		return err
	}
	now := p.now()
	rows := make([][]string, len(list))
	for i := range list {
		r := &list[i]
		rows[i] = []string{r.JobID, string(r.Kind), r.FromAgent + " → " + r.ToAgent, standing(r), ago(now, time.UnixMilli(r.CreatedAt)), lasted(r, now),
			output.Cut(output.Printable(r.Preview), previewCells)}
	}
	if err := output.Table(p.stdout, []string{"JOB", "KIND", "WHO", "STATE", "ASKED", "TOOK", "MESSAGE"}, rows); err != nil {
		return err
	}
	if len(list) == l.limit {
		_, err := fmt.Fprintf(p.stdout, "the newest %s; --limit %d lists more\n", output.Count(int64(len(list)), "flow"), maxFlows)
		return err
	}
	_, err := fmt.Fprintln(p.stdout, output.Count(int64(len(list)), "flow"))
	return err
}

// standing says in a word or two how a flow stands: what it waits for, or how it ended.
func standing(r *flows.Row) string {
	switch {
	case r.Phase == flow.Over:
		return r.Outcome
	case r.Phase == flow.Turn:
		return fmt.Sprintf("turn %d/%d", r.Turn, r.EffectiveTurns)
	case r.Phase == flow.Waiting && r.Attempt > 1:
		return fmt.Sprintf("waiting (attempt %d)", r.Attempt)
	}
	return string(r.Phase)
}

// lasted is how long a flow has taken, or takes by now.
func lasted(r *flows.Row, now time.Time) string {
	if r.EndedAt > 0 {
		return span(r.EndedAt - r.CreatedAt)
	}
	return span(now.UnixMilli() - r.CreatedAt)
}
