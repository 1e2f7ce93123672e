package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
)

func newDoctor(p *process) *cobra.Command {
	var a asking
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong, and say what to do about it",
		Long: `Looks at the configuration, the API's address, directories and disk, the clock, the database and its WAL, the tables made of it, the
position in the log that is followed, the search file and the backups. Changes nothing. Works beside a running server, which it asks what
only the server knows.

Exit codes: 0 there is no error; 1 there is one; 78 what is wrong is the configuration.`,
		Example: "  openclawd doctor\n  openclawd doctor --state-dir ./team --json",
		Args:    positional(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.doctor(cmd.Context(), a) },
	}
	a.addFlags(cmd)
	return cmd
}

// Severities of a finding.
const (
	severityOK      = "ok"
	severityWarning = "warning"
	severityError   = "error"
)

// finding is one thing that the doctor has looked at.
type finding struct {
	Severity string `json:"severity"`
	Code     string `json:"code"`  // stable, e.g. disk_low
	What     string `json:"what"`  // is the case
	Where    string `json:"where"` // file, address or setting
	Mend     string `json:"mend"`  // "" where nothing is to be done
}

// checkup gathers findings.
type checkup struct {
	*process
	*place
	findings []finding
	server   *monitor.Status // nil: none of ours answers
}

func (c *checkup) ok(code, where, format string, args ...any) {
	c.findings = append(c.findings, finding{severityOK, code, fmt.Sprintf(format, args...), where, ""})
}

func (c *checkup) warn(code, where, mend, format string, args ...any) {
	c.findings = append(c.findings, finding{severityWarning, code, fmt.Sprintf(format, args...), where, mend})
}

func (c *checkup) fail(code, where, mend, format string, args ...any) {
	c.findings = append(c.findings, finding{severityError, code, fmt.Sprintf(format, args...), where, mend})
}

// failed notes an error, with the hint that it brings.
func (c *checkup) failed(code, where, mend string, err error) {
	var coded eventstore.Coded
	if errors.As(err, &coded) {
		code, mend = coded.Code(), coded.Hint()
	}
	c.fail(code, where, mend, "%v", err)
}

func (p *process) doctor(ctx context.Context, a asking) error {
	at, err := p.place(a)
	if err != nil {
		return err
	}
	c := &checkup{process: p, place: at}
	c.checkConfig()
	c.checkServer(ctx, a)
	c.checkClock()
	c.checkDirectories()
	c.checkDatabase(ctx)
	c.checkBackups()
	if err := ctx.Err(); err != nil {
		return err
	}
	write := c.write
	if a.asJSON {
		write = func() error { return writeJSON(p.stdout, c.findings) }
	}
	if err := write(); err != nil {
		return err
	}
	return c.verdict()
}

func (c *checkup) write() error {
	rows := make([][]string, len(c.findings))
	for i, f := range c.findings {
		rows[i] = []string{f.Severity, f.Code, f.What, f.Where}
	}
	if err := writeTable(c.stdout, []string{"SEVERITY", "CODE", "WHAT", "WHERE"}, rows); err != nil {
		return err
	}
	for _, f := range c.findings {
		if f.Mend == "" {
			continue
		}
		if _, err := fmt.Fprintf(c.stdout, "%s: %s\n", f.Code, printable(f.Mend)); err != nil {
			return err
		}
	}
	return nil
}

// unwellError says that the doctor has found errors.
type unwellError struct{ errors int64 }

func (e *unwellError) Error() string { return "the doctor has found " + count(e.errors, "error") }
func (e *unwellError) Code() string  { return "unwell" }
func (e *unwellError) Hint() string  { return "mend what is listed, and look again" }

// verdict is an error if one was found; that of a setting if all are of the configuration.
func (c *checkup) verdict() error {
	var all, configured int64
	for _, f := range c.findings {
		if f.Severity == severityError {
			all++
			if strings.HasPrefix(f.Code, configPrefix) {
				configured++
			}
		}
	}
	unwell := &unwellError{all}
	switch {
	case all == 0:
		return nil
	case all == configured:
		return &configError{setting: "configuration", value: c.configured.File, err: unwell, mend: unwell.Hint()}
	}
	return unwell
}

// configPrefix begins the codes of findings about the configuration.
const configPrefix = "config_"

func (c *checkup) checkConfig() {
	for i := range c.place.findings {
		f := &c.place.findings[i]
		severity := severityWarning
		if f.Severity == config.Error {
			severity = severityError
		}
		c.findings = append(c.findings, finding{severity, configPrefix + f.Code, strings.TrimPrefix(f.Path+": "+f.Message, ": "), f.Where(), f.Mend})
	}
	file := c.configured.File
	found := settingsOf(c.configured, c.getenv, "", nil)
	found.api.value = c.api
	if err := found.check(); err != nil {
		c.failed(configPrefix+"refused", found.api.source, "", err)
		c.findings[len(c.findings)-1].Code = configPrefix + "refused"
	}
	switch {
	case !c.configured.Found:
		c.ok(configPrefix+"absent", file, "there is no configuration: the defaults are in force")
	case len(c.place.findings) == 0:
		c.ok(configPrefix+"usable", file, "the configuration can be used: %s", count(int64(len(c.configured.Agents)), "agent"))
	}
}

// checkServer asks the server, or finds out whether the address is free for one.
func (c *checkup) checkServer(ctx context.Context, a asking) {
	status, why := askStatus(ctx, c.place, a.db != "")
	if status != nil {
		c.server = status
		c.ok("server_answers", status.API, "openclawd %s serves, up since %s", status.Version, formatMs(status.StartedAt.UnixMilli()))
		for _, r := range status.Reasons {
			tell := c.warn
			if r.Severity == monitor.SeverityError {
				tell = c.fail
			}
			tell("server_"+r.Code, status.API, r.Mend, "%s", r.What)
		}
		return
	}
	l, err := listenOnce(ctx, c.api)
	if err != nil {
		c.fail("port_taken", c.api, "stop what listens there, or give serve another address with --api", "%s, and the address cannot be bound: %v", why, err)
		return
	}
	_ = l.Close()
	c.ok("port_free", c.api, "%s; the address is free", why)
}

// checkClock finds a clock that was never set. checkLog compares it with the newest event.
func (c *checkup) checkClock() {
	oldest := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) // this program is younger
	if now := c.now(); now.Before(oldest) {
		c.fail("clock_wrong", "system clock", "set the clock; events are stamped by it", "the clock says %s", now.UTC().Format(time.RFC3339))
		return
	}
	c.ok("clock", "system clock", "%s", c.now().UTC().Format(time.RFC3339))
}
