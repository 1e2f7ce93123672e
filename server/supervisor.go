package server

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/output"
)

// Supervisor is the service manager that started the program and receives its notifications. The zero value receives
// none.
type Supervisor struct {
	Tell     func(state string) error // sends one message of sd_notify; nil: there is no listener
	Watchdog time.Duration            // watchdog timeout after which the program counts as hung; 0: none
}

// SupervisorOfProcess is the service manager named by this process's environment, as systemd does for a unit of Type=notify; the zero value
// if none listens.
func SupervisorOfProcess(getenv func(string) string) (Supervisor, error) {
	if getenv("NOTIFY_SOCKET") == "" {
		return Supervisor{}, nil
	}
	watchdog, err := daemon.SdWatchdogEnabled(false)
	return Supervisor{Watchdog: watchdog, Tell: func(state string) error {
		_, err := daemon.SdNotify(false, state)
		return err
	}}, err
}

const (
	statusEvery = 30 * time.Second // how often a supervisor without a watchdog gets the status
	maxStatus   = 200              // maximum length of a status in runes: one terminal line
	maxCodes    = 5                // reasons named in a status
)

// supervised sends notifications to the supervisor, if any. It is safe for concurrent use.
type supervised struct {
	Supervisor
	logger *slog.Logger
}

func (n *supervised) notify(lines ...string) {
	if n.Tell == nil {
		return
	}
	if err := n.Tell(strings.Join(lines, "\n")); err != nil {
		n.logger.Warn("cannot notify the service manager", "err", err)
	}
}

// starting reports what the program does before it can answer.
func (n *supervised) starting(doing string) { n.notify(status(doing)) }

// reloading reports that the configuration is being read again. ready must follow.
func (n *supervised) reloading() {
	// systemd compares this with its own clock, so it requires the monotonic time.
	n.notify(daemon.SdNotifyReloading, strings.TrimSuffix(daemon.SdNotifyMonotonicUsec(), "\n"))
}

// ready reports that the program answers, at startup and after reloading.
func (n *supervised) ready() { n.notify(daemon.SdNotifyReady) }

// interval is how often the supervisor gets the status.
func (n *supervised) interval() time.Duration {
	if n.Watchdog > 0 {
		return n.Watchdog / 2
	}
	return statusEvery
}

// run reports that the program answers, then its status at intervals, and its end when ctx ends. hung says why only a restart can help, ""
// if none is needed; while it does, watchdog pings are withheld.
func (n *supervised) run(ctx context.Context, hung func() string, standing func(context.Context) string) {
	if n.Tell == nil {
		return
	}
	n.notify(daemon.SdNotifyReady, status(standing(ctx)))
	again := time.NewTicker(n.interval())
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			n.notify(daemon.SdNotifyStopping, status("stopping: waiting for requests and runs to finish"))
			return
		case <-again.C:
		}
		if why := hung(); why != "" {
			n.logger.Error("not answering the service manager's watchdog: a restart is needed", "why", why)
			n.notify(status("hung: " + why))
			continue
		}
		if n.Watchdog > 0 {
			n.notify(daemon.SdNotifyWatchdog)
		}
		n.notify(status(standing(ctx)))
	}
}

// supervise runs the notifications to the supervisor. The listeners are open when it is called.
func (p *Program) supervise(ctx context.Context) error {
	p.notifier.run(ctx, func() string { return hung(p.log.Gauges()) }, p.statusLine)
	return nil
}

// hung says why only a restart can help, or "". Reasons of readyz do not count, and file maintenance may take long.
func hung(g sqlite.Gauges) string {
	if g.Writing > stalledAfter && !g.Maintaining {
		return fmt.Sprintf("a write transaction has been running for %s", g.Writing.Round(time.Second))
	}
	return ""
}

// statusLine is the program's status in one line.
func (p *Program) statusLine(ctx context.Context) string {
	ctx, stop := context.WithTimeout(ctx, scrapeTime)
	defer stop()
	f := p.facts(ctx)
	where := "API on " + p.address
	if at := p.gatewayAddress(); at != nil {
		where += ", gateway on " + at.String()
	}
	reasons := f.reasons()
	verdict := "ok"
	switch {
	case !f.ready():
		verdict = "unready"
	case len(reasons) > 0:
		verdict = "degraded"
	}
	return fmt.Sprintf("%s%s: %s, %s", verdict, codesOf(reasons), where, output.Count(f.head, "event"))
}

func codesOf(reasons []health.Reason) string {
	var codes []string
	for i := range reasons {
		if code := string(reasons[i].Code); !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	switch {
	case len(codes) == 0:
		return ""
	case len(codes) > maxCodes:
		codes = append(codes[:maxCodes], strconv.Itoa(len(codes)-maxCodes)+" more")
	}
	return " (" + strings.Join(codes, ", ") + ")"
}

// status formats the notification that sets the displayed status.
func status(text string) string {
	if runes := []rune(text); len(runes) > maxStatus {
		text = string(runes[:maxStatus-3]) + "..."
	}
	return "STATUS=" + strings.ReplaceAll(text, "\n", " ")
}
