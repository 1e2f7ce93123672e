// Package doctor checks an installation for problems, beside a running server or without one, and suggests fixes.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/mcp"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/server/settings"
)

// Severities of a finding.
const (
	severityOK      = "ok"
	severityWarning = "warning"
	severityError   = "error"
)

// Finding is the result of one check.
type Finding struct {
	Severity string `json:"severity"`
	Code     string `json:"code"`  // stable, e.g. disk_low
	What     string `json:"what"`  // what was found
	Where    string `json:"where"` // file, address or setting
	Hint     string `json:"hint"`  // "" if no action is needed
}

// Patient is what the doctor checks.
type Patient struct {
	Place  *apiclient.Place
	Getenv func(string) string
	Now    func() time.Time
}

// Examine runs all checks, changes nothing, and lists the findings. Its error is ctx's.
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
	c.checkUnits()
	return c.findings, ctx.Err()
}

// checkup collects findings.
type checkup struct {
	place    *apiclient.Place
	getenv   func(string) string
	now      func() time.Time
	findings []Finding
	server   *monitor.Status // nil: no server of ours answers
}

func (c *checkup) ok(code, where, format string, args ...any) {
	c.findings = append(c.findings, Finding{severityOK, code, fmt.Sprintf(format, args...), where, ""})
}

func (c *checkup) warn(code, where, hint, format string, args ...any) {
	c.findings = append(c.findings, Finding{severityWarning, code, fmt.Sprintf(format, args...), where, hint})
}

func (c *checkup) fail(code, where, hint, format string, args ...any) {
	c.findings = append(c.findings, Finding{severityError, code, fmt.Sprintf(format, args...), where, hint})
}

// failed records an error with its hint.
func (c *checkup) failed(code, where, hint string, err error) {
	var coded eventstore.Coded
	if errors.As(err, &coded) {
		code, hint = coded.Code(), coded.Hint()
	}
	c.fail(code, where, hint, "%v", err)
}

// configPrefix begins the codes of findings about the configuration.
const configPrefix = "config_"

const configExposed = configPrefix + "exposed"

func (c *checkup) checkConfig() {
	findings := append(slices.Clone(c.place.Findings), settings.CheckModels(c.place.Config, c.getenv)...)
	findings = append(findings, settings.CheckBots(c.place.Config)...)
	findings = append(findings, settings.CheckCluster(c.place.Config)...)
	for i := range findings {
		f := &findings[i]
		severity := severityWarning
		if f.Severity == config.Error {
			severity = severityError
		}
		c.findings = append(c.findings, Finding{severity, configPrefix + f.Code, strings.TrimPrefix(f.Path+": "+f.Message, ": "), f.Where(), f.Hint})
	}
	for _, m := range mcp.Check(c.place.Config, c.getenv) {
		c.warn("mcp_server", "mcp.servers."+m.Server, m.Hint, "%s", m.Text)
	}
	file := c.place.Config.File
	found := settings.Of(c.place.Config, c.getenv, "", nil)
	found.API.Value = c.place.API
	if err := found.Check(); err != nil {
		c.failed(configPrefix+"refused", found.API.Source, "", err)
		c.findings[len(c.findings)-1].Code = configPrefix + "refused"
	}
	if info, err := os.Stat(file); err == nil {
		c.checkPermissions(configExposed, file, "the configuration, which may hold secrets", info)
	}
	switch {
	case !c.place.Config.Found:
		c.ok(configPrefix+"absent", file, "no configuration: using defaults")
	case len(findings) == 0:
		c.ok(configPrefix+"usable", file, "the configuration is valid: %s", output.Count(int64(len(c.place.Config.Agents)), "agent"))
	}
}

// checkServer asks the server, or checks whether its address is free.
func (c *checkup) checkServer(ctx context.Context) {
	status, why := c.place.Status(ctx)
	if status != nil {
		c.server = status
		c.ok("server_answers", status.API, "openclawd %s is running, up since %s", status.Version, output.Time(status.StartedAt.UnixMilli()))
		if n := status.Cluster; n != nil {
			c.ok("cluster_node", status.API, "node %s of a cluster is %s; node %s writes", n.Node, n.Role, cmp.Or(n.Writer, "(none)"))
		}
		for _, r := range status.Reasons {
			tell := c.warn
			if r.Severity == health.SeverityError {
				tell = c.fail
			}
			tell("server_"+string(r.Code), status.API, r.Hint, "%s", r.What)
		}
		return
	}
	l, err := listenOnce(ctx, c.place.API)
	if err != nil {
		c.fail("port_taken", c.place.API, "stop the process that listens there, or use another address: openclawd serve --api", "%s, and the address cannot be bound: %v", why, err)
		return
	}
	_ = l.Close()
	c.ok("port_free", c.place.API, "%s; the address is free", why)
}

// checkClock detects a clock that was never set. checkLog compares it with the newest event.
func (c *checkup) checkClock() {
	oldest := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) // this program is newer
	if now := c.now(); now.Before(oldest) {
		c.fail("clock_wrong", "system clock", "set the clock; events are stamped with its time", "the clock says %s", now.UTC().Format(time.RFC3339))
		return
	}
	c.ok("clock", "system clock", "%s", c.now().UTC().Format(time.RFC3339))
}
