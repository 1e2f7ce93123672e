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

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/redaction"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/maintenance/redact"
	"github.com/pronto-lab/openclawd/projections/redactions"
	"github.com/pronto-lab/openclawd/server"
)

type redactFlags struct {
	serverFlags
	order      redaction.Order
	classifier string

	dryRun, yes, resume bool
}

func newRedact(p *process) *cobra.Command {
	var r redactFlags
	cmd := &cobra.Command{
		Use:   "redact SEQ... | --text TEXT | --id ID | --resume",
		Short: "Permanently blank payloads, wherever they are stored",
		Long: `Blanks the payloads of events permanently: their positions, types, times and hashes stay, and the log still verifies. The texts are also removed
from tables, search, lines of coordination logs in the state directory, task files and archives, and the database file is rewritten so that
nothing of them is left in it. What openclawd cannot change, such as backups, is listed with what to do about it.

Texts of the selected events that are longer than 12 characters are searched for in all other events, which are blanked as well unless --only is
given: work, runs, transcripts and deliveries repeat what was said. --text blanks every event that contains a text; - reads it from standard input,
so that it does not end up in the shell history. Pending work that depends on blanked payloads is cancelled. Events of the configuration, and the
log's own records of redactions and archives, are not redacted.

The list is shown for confirmation first. The running server does the work, else this command, which locks the database meanwhile. It may be
interrupted once the payloads are blank: the next server, or --resume, finishes it.

Exit codes: 0 done; 1 failed, or nothing contains the text; 75 another openclawd has locked the database; 78 invalid flag, or the server requires
another write token (TASK_MONITOR_WRITE_TOKEN).`,
		Example: `  openclawd redact 4711 --reason "requested by 민수" --dry-run
  openclawd redact 4711 4712 --only --yes
  openclawd redact --text - < secret.txt
  openclawd redact --resume`,
		Args: positional(func(_ *cobra.Command, args []string) error { return r.parseArgs(args) }),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.redact(cmd.Context(), &r, cmd.InOrStdin()) },
	}
	r.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&r.order.Text, "text", "", "blank every event that contains this `TEXT`; - reads it from standard input")
	flags.StringArrayVar(&r.order.IDs, "id", nil, "`ID` of an event; may be repeated")
	flags.StringVar(&r.order.Reason, "reason", "", "reason `TEXT`, recorded in the log")
	flags.StringVar(&r.order.By, "by", "", "`NAME` of the person who requests it (default: your user name)")
	flags.BoolVar(&r.order.Only, "only", false, "only the named events, not those that repeat their texts")
	flags.BoolVar(&r.dryRun, "dry-run", false, "show what would be blanked, and what else contains the texts")
	flags.BoolVar(&r.yes, "yes", false, "do not ask for confirmation")
	flags.BoolVar(&r.resume, "resume", false, "finish an interrupted redaction")
	addClassifier(cmd, &r.classifier)
	return cmd
}

// parseArgs parses the arguments, which are seqs.
func (r *redactFlags) parseArgs(args []string) error {
	for _, arg := range args {
		seq, err := strconv.ParseInt(arg, 10, 64)
		if err != nil || seq < 1 {
			return fmt.Errorf("%q is not a seq (1, 2, 3, ...); --id takes an event id, --text a text", arg)
		}
		r.order.Seqs = append(r.order.Seqs, seq)
	}
	named := len(args) + len(r.order.IDs)
	switch {
	case r.resume && (named > 0 || r.order.Text != ""):
		return errors.New("--resume finishes an earlier redaction; name nothing with it")
	case !r.resume && named == 0 && r.order.Text == "":
		return errors.New("name events by their seqs, or give --id, --text or --resume")
	case named > 0 && r.order.Text != "":
		return errors.New("name events or give --text, not both")
	}
	return nil
}

// maxRedactText limits a text read from standard input.
const maxRedactText = 1 << 20

func (p *process) redact(ctx context.Context, r *redactFlags, stdin io.Reader) error {
	if r.order.Text == "-" {
		text, err := io.ReadAll(io.LimitReader(stdin, maxRedactText))
		if err != nil {
			return fmt.Errorf("read the text: %w", err)
		}
		r.order.Text = strings.TrimSpace(string(text))
		if r.order.Text == "" {
			return &config.SettingError{Setting: "--text", Value: "-", HintText: "give a text on standard input"}
		}
	} else if !isTerminal(stdin) && !r.yes && !r.dryRun && !r.resume {
		return &config.SettingError{Setting: "--yes", Value: "false", HintText: "cannot ask for confirmation without a terminal: check with --dry-run, then give --yes"}
	}
	if r.order.By = strings.TrimSpace(r.order.By); r.order.By == "" {
		r.order.By = p.person()
	}
	place, err := p.place(r.serverFlags)
	if err != nil {
		return err
	}
	if r.resume {
		return p.resumeRedactions(ctx, r, place)
	}
	planned, err := place.Redact(ctx, &r.order, true)
	if _, alone := errors.AsType[*apiclient.NoServerError](err); alone && r.api == "" {
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
	for bar := p.eventProgress("redact"); done.Redaction != nil && done.Redaction.State == redactions.Pending; {
		state, err := place.Redaction(ctx, done.Redaction.ID)
		if err != nil {
			return fmt.Errorf("the payloads are blank; cannot query the progress of the rest: %w", err)
		}
		if done.Redaction = &state; state.Progress != nil && state.Progress.Total > 0 {
			bar.update(state.Progress.Done, state.Progress.Total)
		}
		if state.Progress != nil && state.Progress.Error != "" {
			bar.end()
			return fmt.Errorf("the payloads are blank, but not yet removed everywhere; the server keeps trying: %s", state.Progress.Error)
		}
		if state.State != redactions.Pending {
			bar.end()
			break
		}
		if wait.For(ctx, redactPoll) != nil {
			return ctx.Err()
		}
	}
	return p.writeRedacted(r, &done)
}

// redactPoll is how often a server is asked for the progress.
const redactPoll = 200 * time.Millisecond

// agreed shows what is going to be blanked and asks for confirmation. A dry run ends there.
func (p *process) agreed(r *redactFlags, planned redactions.Answer, stdin io.Reader) (bool, error) {
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
		return false, &config.SettingError{Setting: "--yes", Value: "false", HintText: "cannot ask for confirmation without a terminal: check with --dry-run, then give --yes"}
	}
	fmt.Fprintf(p.stderr, "permanently blank the payloads of %s? [y/N] ", output.Count(int64(planned.Count), "event"))
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

func (p *process) writePlan(planned *redactions.Answer) error {
	rows := make([][]string, len(planned.Matches))
	for i := range planned.Matches {
		m := &planned.Matches[i]
		why := "contains it in " + m.Field
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
		if _, err := fmt.Fprintf(p.stdout, "may still contain it: %s\n  hint: %s\n", output.Printable(k.Place), k.Hint); err != nil {
			return err
		}
	}
	return nil
}

func (p *process) writeRedacted(r *redactFlags, done *redactions.Answer) error {
	if r.asJSON {
		return output.JSON(p.stdout, done)
	}
	return p.writeForgotten(done.Redaction)
}

func (p *process) writeForgotten(x *redactions.Redaction) error {
	fmt.Fprintf(p.stdout, "redacted: %s, as %s\n", output.Count(int64(len(x.Seqs)), "event"), x.ID)
	fmt.Fprintf(p.stdout, "  removed from %s, %s of coordination logs, %s of tasks, %s, the search, the database's free space\n",
		output.Count(int64(len(x.Projections)), "projection"), output.Count(x.Lines, "line"), output.Count(x.Files, "file"), output.Count(int64(len(x.Archives)), "archive"))
	return p.writeTraces(x.Kept)
}

// alone runs a redaction in this process while no server has the database locked.
func (p *process) alone(ctx context.Context, r *redactFlags, place *apiclient.Place, use func(*redact.Redactor) error) (err error) {
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

// redactAlone does the whole redaction in this process.
func (p *process) redactAlone(ctx context.Context, r *redactFlags, place *apiclient.Place, stdin io.Reader) error {
	return p.alone(ctx, r, place, func(redactor *redact.Redactor) error {
		plan, err := redactor.Find(ctx, &r.order)
		if err != nil {
			return err
		}
		planned := redactions.Answer{OK: true, DryRun: r.dryRun, Plan: plan, Count: len(plan.Matches)}
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
		return p.writeRedacted(r, &redactions.Answer{OK: true, Plan: plan, Count: len(plan.Matches), Redaction: x})
	})
}

func (p *process) finish(ctx context.Context, redactor *redact.Redactor) error {
	bar := p.eventProgress("redact")
	defer bar.end()
	err := redactor.Finish(ctx, func(at redaction.Progress) {
		if at.Total > 0 {
			bar.update(at.Done, at.Total)
		}
	})
	if err != nil {
		return fmt.Errorf("the payloads are blank, but not yet removed everywhere (openclawd redact --resume continues): %w", err)
	}
	return nil
}

// resumedAnswer is the JSON output of redact --resume.
type resumedAnswer struct {
	OK         bool                   `json:"ok"`
	Redactions []redactions.Redaction `json:"redactions"`
}

// resumeRedactions finishes interrupted redactions, unless a server is running, which does so itself.
func (p *process) resumeRedactions(ctx context.Context, r *redactFlags, place *apiclient.Place) error {
	if status, _ := place.Status(ctx); status != nil {
		_, err := fmt.Fprintln(p.stderr, "a running server has the database and finishes redactions itself: GET /api/redactions reports the progress")
		if err == nil && r.asJSON {
			err = output.JSON(p.stdout, resumedAnswer{true, []redactions.Redaction{}})
		}
		return err
	}
	return p.alone(ctx, r, place, func(redactor *redact.Redactor) error {
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
			return output.JSON(p.stdout, resumedAnswer{true, append([]redactions.Redaction{}, pending...)})
		case len(pending) == 0:
			_, err := fmt.Fprintln(p.stdout, "nothing to resume")
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
