package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

type workListFlags struct {
	readFlags
	dead bool
}

const (
	maxDead      = 1_000 // maximum dead letters per answer
	errorLetters = 60
)

func newWork(p *process) *cobra.Command {
	var l workListFlags
	cmd := &cobra.Command{
		Use:   "work",
		Short: "Show waiting, running and dead-lettered work",
		Long: `Shows the number of waiting and running items for each lane and agent: runs of agents, and other pending side effects. From the database; works
with or without a running server. In the pool a2a, flows between agents normally wait for an answer or a timeout: openclawd a2a list shows
them.

Work that failed too often becomes a dead letter, until it is resent or cancelled.`,
		Example: `  openclawd work
  openclawd work --dead
  openclawd work resend send/release-7
  openclawd work cancel run/6bd56a9f-6a84-479f-8127-c4b06365f0b9`,
		Args: subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.work(cmd.Context(), l) },

		SuggestionsMinimumDistance: nearEnough,
	}
	l.add(cmd)
	cmd.Flags().BoolVar(&l.dead, "dead", false, "list dead letters")
	cmd.AddCommand(newWorkChange(p, "resend", "Retry a dead letter",
		"It is queued after the other items with the same key, and its attempts count from zero."),
		newWorkChange(p, "cancel", "Cancel waiting work or a dead letter",
			"A run of an agent is stopped, even while it is running."))
	return cmd
}

// deadAnswer is a dead letter in JSON.
type deadAnswer struct {
	EffectID string `json:"effectId"`
	Kind     string `json:"kind"`
	Key      string `json:"key"`
	Owner    string `json:"owner,omitempty"`
	Since    int64  `json:"since"` // ms since 1970
	Attempts int    `json:"attempts"`
	Error    string `json:"error,omitempty"`
}

// workAnswer is the JSON output of work. Letters is present only with --dead.
type workAnswer struct {
	Lanes   []monitor.LaneState `json:"lanes"`
	Letters []deadAnswer        `json:"deadLetters,omitzero"`
}

func (p *process) work(ctx context.Context, l workListFlags) error {
	answer := workAnswer{Lanes: []monitor.LaneState{}}
	err := p.readSessions(ctx, l.stateDir, l.db, func(tx *sql.Tx) error { return answer.read(ctx, tx, p.now().UnixMilli(), l.dead) })
	switch {
	case err != nil:
		return err
	case l.asJSON:
		return output.JSON(p.stdout, answer)
	case l.dead:
		return p.writeDead(answer.Letters)
	}
	return p.writeLanes(answer.Lanes)
}

func (a *workAnswer) read(ctx context.Context, tx *sql.Tx, now int64, dead bool) error {
	lanes, err := workqueue.Lanes(ctx, tx)
	if err != nil {
		return err
	}
	for i := range lanes {
		a.Lanes = append(a.Lanes, monitor.LaneStateOf(&lanes[i], now))
	}
	if !dead {
		return nil
	}
	list, err := workqueue.List(ctx, tx, workqueue.Query{State: workqueue.Dead, Limit: maxDead})
	a.Letters = []deadAnswer{}
	for i := range list {
		item := &list[i]
		a.Letters = append(a.Letters, deadAnswer{EffectID: item.EffectID, Kind: item.Kind, Key: item.Key, Owner: item.Owner, Since: item.Since,
			Attempts: item.Attempt, Error: item.Error})
	}
	return err
}

func (p *process) writeLanes(lanes []monitor.LaneState) error {
	var rows [][]string
	dead := 0
	for _, l := range lanes {
		dead += l.Dead
		if l.Waiting == 0 && l.Running == 0 && l.Dead == 0 {
			continue
		}
		oldest := ""
		if l.OldestMs > 0 {
			oldest = output.Duration(l.OldestMs)
		}
		rows = append(rows, []string{l.Lane, l.Owner, output.Thousands(int64(l.Waiting)), output.Thousands(int64(l.Running)), output.Thousands(int64(l.Dead)), oldest})
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(p.stdout, "no waiting or running work; openclawd runs lists what was done")
		return err
	}
	if err := output.Table(p.stdout, []string{"LANE", "AGENT", "WAITING", "RUNNING", "DEAD", "OLDEST"}, rows); err != nil || dead == 0 {
		return err
	}
	_, err := fmt.Fprintf(p.stdout, "%s; openclawd work --dead lists them\n", output.Count(int64(dead), "dead letter"))
	return err
}

func (p *process) writeDead(letters []deadAnswer) error {
	if len(letters) == 0 {
		_, err := fmt.Fprintln(p.stdout, "no dead letters")
		return err
	}
	rows := make([][]string, len(letters))
	for i := range letters {
		l := &letters[i]
		rows[i] = []string{l.EffectID, l.Kind, l.Key, output.Thousands(int64(l.Attempts)), ago(p.now(), time.UnixMilli(l.Since)), clip(l.Error, errorLetters)}
	}
	if err := output.Table(p.stdout, []string{"EFFECT", "KIND", "KEY", "ATTEMPTS", "ASKED", "ERROR"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(p.stdout, "openclawd work resend EFFECT retries one, openclawd work cancel EFFECT cancels it")
	return err
}
