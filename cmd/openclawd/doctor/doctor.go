// Package doctor looks for what is wrong with an installation, beside a running server or without one, and says what to do about it.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/client"
	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
)

// Severities of a finding.
const (
	severityOK      = "ok"
	severityWarning = "warning"
	severityError   = "error"
)

// Finding is one thing that the doctor has looked at.
type Finding struct {
	Severity string `json:"severity"`
	Code     string `json:"code"`  // stable, e.g. disk_low
	What     string `json:"what"`  // is the case
	Where    string `json:"where"` // file, address or setting
	Mend     string `json:"mend"`  // "" where nothing is to be done
}

// Patient is what the doctor looks at.
type Patient struct {
	Place  *client.Place
	Getenv func(string) string
	Now    func() time.Time
}

// Examine looks at everything, changes nothing, and lists what it has found. Its error is that of ctx.
func Examine(ctx context.Context, who Patient) ([]Finding, error) {
	c := &checkup{place: who.Place, getenv: who.Getenv, now: who.Now}
	c.checkConfig()
	c.checkServer(ctx)
	c.checkGateway(ctx)
	c.checkTaskFiles()
	c.checkClock()
	c.checkDirectories()
	c.checkDatabase(ctx)
	c.checkBackups()
	return c.findings, ctx.Err()
}

// checkup gathers findings.
type checkup struct {
	place    *client.Place
	getenv   func(string) string
	now      func() time.Time
	findings []Finding
	server   *monitor.Status // nil: none of ours answers
}

func (c *checkup) ok(code, where, format string, args ...any) {
	c.findings = append(c.findings, Finding{severityOK, code, fmt.Sprintf(format, args...), where, ""})
}

func (c *checkup) warn(code, where, mend, format string, args ...any) {
	c.findings = append(c.findings, Finding{severityWarning, code, fmt.Sprintf(format, args...), where, mend})
}

func (c *checkup) fail(code, where, mend, format string, args ...any) {
	c.findings = append(c.findings, Finding{severityError, code, fmt.Sprintf(format, args...), where, mend})
}

// failed notes an error, with the hint that it brings.
func (c *checkup) failed(code, where, mend string, err error) {
	var coded eventstore.Coded
	if errors.As(err, &coded) {
		code, mend = coded.Code(), coded.Hint()
	}
	c.fail(code, where, mend, "%v", err)
}

// configPrefix begins the codes of findings about the configuration.
const configPrefix = "config_"

func (c *checkup) checkConfig() {
	findings := append(slices.Clone(c.place.Findings), settings.CheckModels(c.place.Config, c.getenv)...)
	findings = append(findings, settings.CheckBots(c.place.Config)...)
	for i := range findings {
		f := &findings[i]
		severity := severityWarning
		if f.Severity == config.Error {
			severity = severityError
		}
		c.findings = append(c.findings, Finding{severity, configPrefix + f.Code, strings.TrimPrefix(f.Path+": "+f.Message, ": "), f.Where(), f.Mend})
	}
	file := c.place.Config.File
	found := settings.Of(c.place.Config, c.getenv, "", nil)
	found.API.Value = c.place.API
	if err := found.Check(); err != nil {
		c.failed(configPrefix+"refused", found.API.Source, "", err)
		c.findings[len(c.findings)-1].Code = configPrefix + "refused"
	}
	switch {
	case !c.place.Config.Found:
		c.ok(configPrefix+"absent", file, "there is no configuration: the defaults are in force")
	case len(findings) == 0:
		c.ok(configPrefix+"usable", file, "the configuration can be used: %s", output.Count(int64(len(c.place.Config.Agents)), "agent"))
	}
}

// checkServer asks the server, or finds out whether the address is free for one.
func (c *checkup) checkServer(ctx context.Context) {
	status, why := c.place.Status(ctx)
	if status != nil {
		c.server = status
		c.ok("server_answers", status.API, "openclawd %s serves, up since %s", status.Version, output.Time(status.StartedAt.UnixMilli()))
		for _, r := range status.Reasons {
			tell := c.warn
			if r.Severity == monitor.SeverityError {
				tell = c.fail
			}
			tell("server_"+r.Code, status.API, r.Mend, "%s", r.What)
		}
		return
	}
	l, err := listenOnce(ctx, c.place.API)
	if err != nil {
		c.fail("port_taken", c.place.API, "stop what listens there, or give serve another address with --api", "%s, and the address cannot be bound: %v", why, err)
		return
	}
	_ = l.Close()
	c.ok("port_free", c.place.API, "%s; the address is free", why)
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
