package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/monitor"
)

func newWhy(p *process) *cobra.Command {
	var a serverFlags
	cmd := &cobra.Command{
		Use:   "why MESSAGE",
		Short: "Explain who answered a message in a channel, who did not, and why",
		Long: `Shows which agents handled a message in Discord, Telegram or Slack, which observed or never received it, and why; the runs that it caused, and their posts. MESSAGE is
its link, or its id (in Discord Copy Message ID in its menu). Asks the running server, which knows the names of people and channels; without one it reads the
database, and says so.

Exit codes: 0 shown; 1 failed, or no decision about the message; 78 MESSAGE is neither.`,
		Example: `  openclawd why 1404921871234567890
  openclawd why https://discord.com/channels/1400000000000000001/1400000000000000002/1404921871234567890
  openclawd why https://t.me/c/1234567890/55
  openclawd why slack:c0123456789:1700000000.000100 --json`,
		Args: positional(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return p.why(cmd.Context(), a, args[0]) },

		ValidArgsFunction: cobra.NoFileCompletions,
	}
	a.addFlags(cmd)
	return cmd
}

// whyReport is the JSON output of why.
type whyReport struct {
	Source string `json:"source"` // server, file
	Note   string `json:"note,omitempty"`
	*monitor.Routing
}

// messageNamed extracts the id from a message id or link.
func messageNamed(name string) (id string, err error) {
	id = strings.TrimSpace(name)
	id = cmp.Or(coordination.MessageOfLink(id), id)
	if !coordination.IsMessageID(id) {
		return "", &config.SettingError{Setting: "MESSAGE", Value: name, HintText: "give the id of a message, of Discord 17 to 20 digits, or its link"}
	}
	return id, nil
}

func (p *process) why(ctx context.Context, a serverFlags, name string) error {
	id, err := messageNamed(name)
	if err != nil {
		return err
	}
	place, err := p.place(a)
	if err != nil {
		return err
	}
	report := whyReport{Source: "server"}
	report.Routing, err = place.Routing(ctx, id)
	if refused, ok := errors.AsType[*apiclient.RefusedError](err); ok && refused.Why == "not_found" {
		err = undecided(id)
	}
	if alone, ok := errors.AsType[*apiclient.NoServerError](err); ok && a.api == "" {
		report.Source, report.Note = "file", alone.Why+": read from "+place.DB+", without the names that only bots know"
		report.Routing, err = p.readRouting(ctx, place, id)
	}
	switch {
	case err != nil:
		return err
	case a.asJSON:
		return output.JSON(p.stdout, report)
	}
	return p.writeWhy(&report)
}

// readRouting reads the outcome of a message from the database of a place.
func (p *process) readRouting(ctx context.Context, at *apiclient.Place, id string) (r *monitor.Routing, err error) {
	log, err := p.openToRead(ctx, at.DB)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	err = log.View(ctx, func(tx *sql.Tx) error {
		words, err := monitor.WordingOf(ctx, tx, nil)
		if err != nil {
			return err
		}
		r, err = monitor.RoutingOf(ctx, tx, id, words)
		return err
	})
	if err == nil && r == nil {
		err = undecided(id)
	}
	return r, err
}

func undecided(id string) error {
	return &codedError{text: "no decision about message " + id, code: "no_message",
		hint: "no bot has reported it: openclawd discord bots shows their state; an edited or deleted message keeps its id"}
}

func (p *process) writeWhy(report *whyReport) error {
	r := report.Routing
	m := &r.Message
	at := output.Time(m.At) + ", " + ago(p.now(), time.UnixMilli(m.At))
	err := p.writePairs(oneLine, [][2]string{{"message", m.MessageID}, {"in", whereOf(m)}, {"by", authorOf(m)}, {"sent", at}, {"text", m.Text}, {"link", m.Link},
		{"belongs to", partOf(r.Collaboration)}, {"mentions", strings.Join(r.Mentioned, ", ")}, {"in the thread", thereOf(r.ThreadParticipants)}})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(p.stdout, "\n%s\n", oneLine(r.Explanation)); err != nil {
		return err
	}
	if err := p.writeVerdicts(r); err != nil {
		return err
	}
	if err := p.writeRunsOf(r); err != nil {
		return err
	}
	for i := range r.Warnings {
		if _, err := fmt.Fprintf(p.stdout, "\n%s: %s\n", r.Warnings[i].Code, oneLine(r.Warnings[i].Text)); err != nil {
			return err
		}
	}
	return p.writeText("NOTE", report.Note)
}

// whereOf is the place of a message.
func whereOf(m *monitor.RoutedMessage) string {
	if m.GuildID == "" {
		return "direct messages"
	}
	place := "#" + cmp.Or(m.ChannelName, m.ChannelID)
	if m.ThreadID != "" {
		place += ", thread " + cmp.Or(m.ThreadName, m.ThreadID)
	}
	return place
}

// authorOf is the author of a message.
func authorOf(m *monitor.RoutedMessage) string {
	who := cmp.Or(m.AuthorName, m.AuthorAgent, m.AuthorID)
	if m.AuthorAgent != "" {
		who += " (agent " + m.AuthorAgent + ")"
	}
	if m.System {
		who += ", by openclawd itself"
	}
	return who
}

// partOf is the role of a message in a request between agents; "" for none.
func partOf(c *monitor.RoutedCollaboration) string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s of %s → %s: %s, %s", c.Part, c.FromAgent, c.ToAgent, c.CollabID, cmp.Or(string(c.Status), string(c.Delivery)))
}

func thereOf(list []monitor.RoutedParticipant) string {
	var parts []string
	for i := range list {
		parts = append(parts, list[i].AgentID+" ("+list[i].Reason+")")
	}
	return strings.Join(parts, ", ")
}

// writeVerdicts writes a line for each agent.
func (p *process) writeVerdicts(r *monitor.Routing) error {
	if len(r.Agents) == 0 {
		return nil
	}
	rows := make([][]string, len(r.Agents))
	for i := range r.Agents {
		a := &r.Agents[i]
		rows[i] = []string{a.AgentID, a.AgentName, string(a.Mode), string(a.Order), string(a.Reason), a.Explanation}
	}
	return p.writeBelow([]string{"AGENT", "NAME", "WHAT", "ORDER", "REASON", "WHY"}, rows)
}

// writeRunsOf writes the runs that a message caused, and their posts.
func (p *process) writeRunsOf(r *monitor.Routing) error {
	var runs, replies [][]string
	for i := range r.Agents {
		a := &r.Agents[i]
		if a.Run != nil {
			runs = append(runs, []string{a.Run.RunID, a.AgentID, a.Run.State, routedTook(a.Run, p.now()), output.Cut(oneLine(cmp.Or(a.Run.Error, a.Run.Reason)), previewCells)})
		}
		for _, reply := range a.Replies {
			replies = append(replies, []string{reply.MessageID, a.AgentID, reply.Purpose, output.Time(reply.At), output.Duration(reply.At - r.At)})
		}
	}
	if len(runs) > 0 {
		if err := p.writeBelow([]string{"RUN", "AGENT", "STATE", "TOOK", "ERROR"}, runs); err != nil {
			return err
		}
	}
	if len(replies) == 0 {
		return nil
	}
	return p.writeBelow([]string{"POSTED", "AGENT", "AS", "AT", "AFTER"}, replies)
}

// routedTook is the duration of a run; "" if it has not started.
func routedTook(r *monitor.RoutedRun, now time.Time) string {
	switch {
	case r.StartedAt == nil:
		return ""
	case r.EndedAt == nil:
		return output.Duration(now.UnixMilli() - *r.StartedAt)
	}
	return output.Duration(*r.EndedAt - *r.StartedAt)
}
