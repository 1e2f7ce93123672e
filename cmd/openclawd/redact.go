package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/client"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/redaction"
	"github.com/pronto-lab/openclawd/cmd/openclawd/server"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/monitor"
)

// redacting holds the flags of redact.
type redacting struct {
	asking
	order      monitor.RedactionOrder
	classifier string

	dryRun, yes, resume bool
}

func newRedact(p *process) *cobra.Command {
	var r redacting
	cmd := &cobra.Command{
		Use:   "redact SEQ... | --text TEXT | --id ID | --resume",
		Short: "Blank payloads for ever, wherever they are kept",
		Long: `Blanks the payloads of events, for ever: their places, types, times and hashes stay, and the log still verifies. Tables, search, lines of
coordination logs in the state directory, files of tasks and archives forget the texts too, and the file is written anew so that nothing of them
is left in it. What is not ours to change, such as backups, is told with what to do about it.

Of the events that are named, texts longer than 12 characters are looked for in all other events, and those are blanked as well, unless --only is
given: work, runs, transcripts and deliveries repeat what was said. --text blanks every event that holds a text; - reads it from standard input, so
that it stands in no history of a shell. Work that waits for what is blanked is called off. Events of the configuration, and the log's own account
of redactions and archives, are not redacted.

The list is shown before anything happens. The running server does it, else this command, which keeps others from the database meanwhile. It may be
interrupted once the payloads are blank: the next server, or --resume, finishes it.

Exit codes: 0 done; 1 it could not be, or nothing holds the text; 75 another openclawd has the database; 78 a flag is wrong, or the server wants
another write token (TASK_MONITOR_WRITE_TOKEN).`,
		Example: `  openclawd redact 4711 --reason "asked for by 민수" --dry-run
  openclawd redact 4711 4712 --only --yes
  openclawd redact --text - < secret.txt
  openclawd redact --resume`,
		Args: positional(func(_ *cobra.Command, args []string) error { return r.take(args) }),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.redact(cmd.Context(), &r, cmd.InOrStdin()) },
	}
	r.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&r.order.Text, "text", "", "blank every event that holds this `TEXT`; - reads it from standard input")
	flags.StringArrayVar(&r.order.IDs, "id", nil, "`ID` of an event; may be given more than once")
	flags.StringVar(&r.order.Reason, "reason", "", "`TEXT` that says why; it stands in the log")
	flags.StringVar(&r.order.By, "by", "", "`NAME` of who asks (default: who you are to this system)")
	flags.BoolVar(&r.order.Only, "only", false, "only the events that are named, not those that repeat their texts")
	flags.BoolVar(&r.dryRun, "dry-run", false, "show what would be blanked, and what else holds the texts")
	flags.BoolVar(&r.yes, "yes", false, "do not ask")
	flags.BoolVar(&r.resume, "resume", false, "finish what was interrupted")
	addClassifier(cmd, &r.classifier)
	return cmd
}

// take reads the arguments, which are seqs.
func (r *redacting) take(args []string) error {
	for _, arg := range args {
		seq, err := strconv.ParseInt(arg, 10, 64)
		if err != nil || seq < 1 {
			return fmt.Errorf("%q is no seq (1, 2, 3, ...); --id takes an event id, --text a text", arg)
		}
		r.order.Seqs = append(r.order.Seqs, seq)
	}
	named := len(args) + len(r.order.IDs)
	switch {
	case r.resume && (named > 0 || r.order.Text != ""):
		return errors.New("--resume finishes what was begun; name nothing with it")
	case !r.resume && named == 0 && r.order.Text == "":
		return errors.New("name events by their seqs, or give --id, --text or --resume")
	case named > 0 && r.order.Text != "":
		return errors.New("name events or give --text, not both")
	}
	return nil
}

// maxRedactText bounds a text that is read from standard input.
const maxRedactText = 1 << 20

func (p *process) redact(ctx context.Context, r *redacting, stdin io.Reader) error {
	if r.order.Text == "-" {
		text, err := io.ReadAll(io.LimitReader(stdin, maxRedactText))
		if err != nil {
			return fmt.Errorf("read the text: %w", err)
		}
		r.order.Text = strings.TrimSpace(string(text))
		if r.order.Text == "" {
			return &settings.Error{Setting: "--text", Value: "-", Mend: "give a text on standard input"}
		}
	} else if !isTerminal(stdin) && !r.yes && !r.dryRun && !r.resume {
		return &settings.Error{Setting: "--yes", Value: "false", Mend: "nobody can be asked here: look with --dry-run, then give --yes"}
	}
	if r.order.By = strings.TrimSpace(r.order.By); r.order.By == "" {
		r.order.By = p.person()
	}
	place, err := p.place(r.asking)
	if err != nil {
		return err
	}
	if r.resume {
		return p.resumeRedactions(ctx, r, place)
	}
	planned, err := place.Redact(ctx, &r.order, true)
	if _, alone := errors.AsType[*client.NoServerError](err); alone && r.api == "" {
		return p.redactAlone(ctx, r, place, stdin)
	}
	if err != nil {
		return err
	}
	if sure, err := p.agreed(r, planned, stdin); err != nil || !sure {
		return err
	}
	done, err := place.Redact(ctx, &r.order, false)
	if err != nil {
		return err
	}
	for bar := p.eventProgress("redact"); done.Redaction != nil && done.Redaction.State == monitor.RedactionPending; {
		state, err := place.Redaction(ctx, done.Redaction.ID)
		if err != nil {
			return fmt.Errorf("the payloads are blank; how far the rest is cannot be asked: %w", err)
		}
		if done.Redaction = &state; state.Progress != nil && state.Progress.Total > 0 {
			bar.tell(state.Progress.Done, state.Progress.Total)
		}
		if state.Progress != nil && state.Progress.Error != "" {
			bar.end()
			return fmt.Errorf("the payloads are blank, but not everything has forgotten them yet, and it is tried again: %s", state.Progress.Error)
		}
		if state.State != monitor.RedactionPending {
			bar.end()
			break
		}
		timer := time.NewTimer(redactPoll)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
	return p.writeRedacted(r, &done)
}

// redactPoll is how often a server is asked how far it is.
const redactPoll = 200 * time.Millisecond

// agreed shows what is going to be blanked, and asks whether it shall be. A dry run ends there.
func (p *process) agreed(r *redacting, planned client.Redacted, stdin io.Reader) (bool, error) {
	if r.asJSON {
		if r.dryRun {
			return false, output.JSON(p.stdout, planned)
		}
	} else if err := p.writePlan(&planned); err != nil || r.dryRun {
		return false, err
	}
	if r.yes {
		return true, nil
	}
	if !isTerminal(stdin) {
		return false, &settings.Error{Setting: "--yes", Value: "false", Mend: "nobody can be asked here: look with --dry-run, then give --yes"}
	}
	fmt.Fprintf(p.stderr, "blank the payloads of %s for ever? [y/N] ", output.Count(int64(planned.Count), "event"))
	line, err := bufio.NewReader(stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if answer := strings.ToLower(strings.TrimSpace(line)); answer == "y" || answer == "yes" {
		return true, nil
	}
	_, err = fmt.Fprintln(p.stderr, "nothing was blanked")
	return false, err
}

func (p *process) writePlan(planned *client.Redacted) error {
	rows := make([][]string, len(planned.Matches))
	for i := range planned.Matches {
		m := &planned.Matches[i]
		why := "holds it in " + m.Field
		if m.Named {
			why = "named"
		}
		rows[i] = []string{strconv.FormatInt(m.Seq, 10), m.Type, m.AgentID, why}
	}
	if len(rows) > 0 {
		if err := output.Table(p.stdout, []string{"SEQ", "TYPE", "AGENT", "WHY"}, rows); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.stdout, "%s to blank\n", output.Count(int64(planned.Count), "event"))
	for _, f := range planned.Refused {
		fmt.Fprintf(p.stdout, "event %d (%s) keeps it: %s\n", f.Seq, output.Printable(f.Type), f.Why)
	}
	return p.writeTraces(planned.Kept)
}

func (p *process) writeTraces(kept []coordination.RedactionTrace) error {
	for _, k := range kept {
		if _, err := fmt.Fprintf(p.stdout, "may hold it still: %s\n  mend: %s\n", output.Printable(k.Place), k.Mend); err != nil {
			return err
		}
	}
	return nil
}

func (p *process) writeRedacted(r *redacting, done *client.Redacted) error {
	if r.asJSON {
		return output.JSON(p.stdout, done)
	}
	return p.writeForgotten(done.Redaction)
}

func (p *process) writeForgotten(x *monitor.Redaction) error {
	fmt.Fprintf(p.stdout, "redacted: %s, as %s\n", output.Count(int64(len(x.Seqs)), "event"), x.ID)
	fmt.Fprintf(p.stdout, "  forgotten by %s, %s of coordination logs, %s of tasks, %s, the search, the database's free space\n",
		output.Count(int64(len(x.Projections)), "projection"), output.Count(x.Lines, "line"), output.Count(x.Files, "file"), output.Count(int64(len(x.Archives)), "archive"))
	return p.writeTraces(x.Kept)
}

// alone has a program forget while no server has the database.
func (p *process) alone(ctx context.Context, r *redacting, place *client.Place, use func(*redaction.Redactor) error) (err error) {
	rules, err := parseClassifier(r.classifier)
	if err != nil {
		return err
	}
	logger, err := server.NewLogger(p.stderr, "warn", "text")
	if err != nil {
		return err
	}
	program := server.New(server.Options{StateDir: place.StateDir, DB: place.DB, Rules: rules, Now: p.now, Logger: logger, Getenv: p.getenv})
	defer func() { err = errors.Join(err, program.Close()) }()
	redactor, err := program.OpenRedactor(ctx)
	if err != nil {
		return err
	}
	return use(redactor)
}

// redactAlone does everything here.
func (p *process) redactAlone(ctx context.Context, r *redacting, place *client.Place, stdin io.Reader) error {
	return p.alone(ctx, r, place, func(redactor *redaction.Redactor) error {
		plan, err := redactor.Find(ctx, &r.order)
		if err != nil {
			return err
		}
		planned := client.Redacted{OK: true, DryRun: r.dryRun, RedactionPlan: plan, Count: len(plan.Matches)}
		if sure, err := p.agreed(r, planned, stdin); err != nil || !sure {
			return err
		}
		id, plan, err := redactor.Redact(ctx, &r.order)
		if err != nil {
			return err
		}
		if err := p.finish(ctx, redactor); err != nil {
			return err
		}
		x, err := redactor.Redaction(ctx, id)
		if err != nil {
			return err
		}
		return p.writeRedacted(r, &client.Redacted{OK: true, RedactionPlan: plan, Count: len(plan.Matches), Redaction: x})
	})
}

func (p *process) finish(ctx context.Context, redactor *redaction.Redactor) error {
	bar := p.eventProgress("redact")
	defer bar.end()
	err := redactor.Finish(ctx, func(at monitor.RedactionProgress) {
		if at.Total > 0 {
			bar.tell(at.Done, at.Total)
		}
	})
	if err != nil {
		return fmt.Errorf("the payloads are blank, but not everything has forgotten them yet (openclawd redact --resume goes on): %w", err)
	}
	return nil
}

// resumedAnswer is the answer of redact --resume.
type resumedAnswer struct {
	OK         bool                `json:"ok"`
	Redactions []monitor.Redaction `json:"redactions"`
}

// resumeRedactions finishes what was interrupted, unless a server is there, which does so by itself.
func (p *process) resumeRedactions(ctx context.Context, r *redacting, place *client.Place) error {
	if status, _ := place.Status(ctx); status != nil {
		_, err := fmt.Fprintln(p.stderr, "a server has the database, and finishes redactions by itself: GET /api/redactions says how far it is")
		if err == nil && r.asJSON {
			err = output.JSON(p.stdout, resumedAnswer{true, []monitor.Redaction{}})
		}
		return err
	}
	return p.alone(ctx, r, place, func(redactor *redaction.Redactor) error {
		pending, err := redactor.Pending(ctx)
		if err != nil {
			return err
		}
		if err := p.finish(ctx, redactor); err != nil {
			return err
		}
		for i := range pending {
			x, err := redactor.Redaction(ctx, pending[i].ID)
			if err != nil {
				return err
			}
			pending[i] = *x
		}
		switch {
		case r.asJSON:
			return output.JSON(p.stdout, resumedAnswer{true, append([]monitor.Redaction{}, pending...)})
		case len(pending) == 0:
			_, err := fmt.Fprintln(p.stdout, "nothing was interrupted")
			return err
		}
		for i := range pending {
			if err := p.writeForgotten(&pending[i]); err != nil {
				return err
			}
		}
		return nil
	})
}
