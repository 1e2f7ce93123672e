package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/monitor"
)

func newContinuationExplain(p *process) *cobra.Command {
	var a serverFlags
	cmd := &cobra.Command{
		Use:   "explain AGENT",
		Short: "Explain an agent's next continuation decision",
		Long: `Shows the server's next step to keep an agent working on its tasks, the prompt it would send, and the history: failures and the back-off after
them, the last prompt, and the steps taken for each task. Nothing is changed. Asks the running server; without one it reads the database and
openclaw.json, and says so.

Exit codes: 0 shown; 1 failed, or the agent may not have tasks; 78 the configuration cannot be used.`,
		Example:           "  openclawd continuation explain eden\n  openclawd continuation explain eden --state-dir ./team --json",
		Args:              positional(cobra.ExactArgs(1)),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.explainContinuation(cmd.Context(), a, args[0]) },
		ValidArgsFunction: completeFirst(func(context.Context) []cobra.Completion { return p.completeKept(a.stateDir) }),
	}
	a.addFlags(cmd)
	return cmd
}

// completeKept completes the agents of the configuration that may have tasks.
func (p *process) completeKept(stateDir string) (list []cobra.Completion) {
	path, err := p.configPath(stateDir, nil)
	if err != nil {
		return nil
	}
	loaded, _ := config.Load(path, p.getenv)
	for i := range loaded.Agents {
		if a := &loaded.Agents[i]; !a.IsUtility() {
			list = append(list, cobra.CompletionWithDesc(strings.ToLower(a.ID), a.Name))
		}
	}
	return list
}

// explainedContinuation is the JSON output of continuation explain.
type explainedContinuation struct {
	Source string `json:"source"` // server, file
	Note   string `json:"note,omitempty"`
	monitor.ContinuationAnswer
}

func (p *process) explainContinuation(ctx context.Context, a serverFlags, agent string) error {
	place, err := p.place(a)
	if err != nil {
		return err
	}
	e := explainedContinuation{Source: "server"}
	e.ContinuationAnswer, err = place.Continuation(ctx, agent)
	if refused, ok := errors.AsType[*apiclient.RefusedError](err); ok && refused.Why == "not_found" {
		err = notKept(agent)
	}
	if alone, ok := errors.AsType[*apiclient.NoServerError](err); ok && a.api == "" {
		e.Source, e.Note = "file", unserved(alone, place)
		err = p.readContinuation(ctx, place, func(tx *sql.Tx, explain monitor.Explain) error {
			explained, kept, err := explain(ctx, tx, agent)
			if err == nil && !kept {
				err = notKept(agent)
			}
			e.ContinuationAnswer = monitor.ContinuationAnswerOf(&explained)
			return err
		})
	}
	if err != nil {
		return err
	}
	if a.asJSON {
		return output.JSON(p.stdout, e)
	}
	return p.writeExplained(&e)
}

func notKept(agent string) error {
	return &codedError{text: fmt.Sprintf("no agent %q that may have tasks", agent), code: "not_kept_going",
		hint: "openclawd continuation lists the agents that may have tasks"}
}

func (p *process) writeExplained(e *explainedContinuation) error {
	if _, err := fmt.Fprintln(p.stdout, output.Printable(e.Explanation)+"\n"); err != nil {
		return err
	}
	d, s := &e.Decision, &e.State
	err := p.writePairs(oneLine, [][2]string{{"agent", e.AgentID}, {"now", string(d.Kind) + " (" + string(d.Reason) + ")"}, {"task", d.TaskID},
		{"tells", d.To}, {"attempt", countOrNone(d.Attempt)}, {"failures", failuresOf(s)}, {"back-off", pauseIn(&e.ContinuationAnswer)},
		{"last prompt", promptOf(s.LastPrompt)}, {"last run", lastRunOf(s.LastRun)}, {"restarted", timeOf(e.RestartedAt)},
		{"looks again", nextCheck(&e.ContinuationAnswer)}})
	if err != nil {
		return err
	}
	if len(s.Tasks) > 0 {
		rows := make([][]string, len(s.Tasks))
		for i := range s.Tasks {
			t := &s.Tasks[i]
			prompted := ""
			if t.PromptedAtMs > 0 {
				prompted = output.Time(t.PromptedAtMs)
			}
			told := ""
			if t.Told {
				told = "yes"
			}
			rows[i] = []string{t.TaskID, strconv.Itoa(t.Prompts), t.StepID, countOrNone(t.SameStep), prompted, countOrNone(t.Reminders), told}
		}
		if err := p.writeBelow([]string{"TASK", "PROMPTS", "STEP", "AT THIS STEP", "LAST PROMPTED", "REMINDERS", "TOLD"}, rows); err != nil {
			return err
		}
	}
	if err := p.writeText("PROMPT", d.Prompt); err != nil || e.Note == "" {
		return err
	}
	return p.writeText("NOTE", e.Note)
}

// failuresOf is the number of failed prompts and the last reason; "" for none.
func failuresOf(s *monitor.CareAnswer) string {
	if s.ConsecutiveFailures == 0 {
		return ""
	}
	return fmt.Sprintf("%d in a row, the last one: %s", s.ConsecutiveFailures, s.Cause)
}

func pauseIn(c *monitor.ContinuationAnswer) string {
	until := pauseOf(c)
	if until == "" {
		return ""
	}
	return "until " + until + ", in " + output.Duration(c.State.BackoffUntilMs-c.AtMs)
}

func promptOf(l *monitor.PromptAnswer) string {
	if l == nil {
		return ""
	}
	text := output.Time(l.AtMs) + ", " + string(l.Reason)
	if l.TaskID != "" {
		text += ", task " + l.TaskID
	}
	if l.RunID != "" {
		text += ", run " + l.RunID
	}
	if !l.Over {
		text += ", not over"
	}
	return text
}

func lastRunOf(l *monitor.LastRunAnswer) string {
	if l == nil {
		return ""
	}
	how := "failed"
	switch {
	case l.OK:
		how = "ended well"
	case l.BrokenOff:
		how = "interrupted by a restart"
	}
	return output.Time(l.AtMs) + ", " + how + ", run " + l.RunID
}
