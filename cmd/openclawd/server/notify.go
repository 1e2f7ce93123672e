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

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/monitor"
)

// Supervisor is who has started the program and wants to be told how it goes. The zero value wants nothing.
type Supervisor struct {
	Tell     func(state string) error // one message of sd_notify; nil: nobody listens
	Watchdog time.Duration            // how long the program may stay silent before it is taken for hung; 0: for ever
}

// SupervisorOfProcess is the service manager that the environment of this process names, as systemd does for a unit of Type=notify.
// Where it names none that listens, nothing is told.
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
	statusEvery = 30 * time.Second // how often a supervisor without a watchdog is told how the program stands
	maxStatus   = 200              // runes of a status: a line of a terminal
	maxCodes    = 5                // reasons that a status names
)

// notifier tells the supervisor. Its methods may be called on one without a supervisor, and by several goroutines.
type notifier struct {
	Supervisor
	logger *slog.Logger
}

func (n *notifier) tell(lines ...string) {
	if n.Tell == nil {
		return
	}
	if err := n.Tell(strings.Join(lines, "\n")); err != nil {
		n.logger.Warn("the service manager cannot be told how the server stands", "err", err)
	}
}

// starting says what the program does before it can answer.
func (n *notifier) starting(doing string) { n.tell(status(doing)) }

// reloading says that the configuration is being read again. ready has to follow.
func (n *notifier) reloading() {
	// systemd measures the time since by its own clock, so it asks for the moment.
	n.tell(daemon.SdNotifyReloading, strings.TrimSuffix(daemon.SdNotifyMonotonicUsec(), "\n"))
}

// ready says that the program answers, at the start and after reloading.
func (n *notifier) ready() { n.tell(daemon.SdNotifyReady) }

// interval is how often the supervisor is told how the program stands.
func (n *notifier) interval() time.Duration {
	if n.Watchdog > 0 {
		return n.Watchdog / 2
	}
	return statusEvery
}

// run tells the supervisor that the program answers, then again and again how it stands, and that it ends when ctx does. hung says why only
// a restart can help, "" if nothing needs one: a watchdog then gets no answer.
func (n *notifier) run(ctx context.Context, hung func() string, standing func(context.Context) string) {
	if n.Tell == nil {
		return
	}
	n.tell(daemon.SdNotifyReady, status(standing(ctx)))
	again := time.NewTicker(n.interval())
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			n.tell(daemon.SdNotifyStopping, status("ends: requests and runs under way may finish"))
			return
		case <-again.C:
		}
		if why := hung(); why != "" {
			n.logger.Error("the watchdog of the service manager is not answered: a restart has to mend this", "why", why)
			n.tell(status("hung: " + why))
			continue
		}
		if n.Watchdog > 0 {
			n.tell(daemon.SdNotifyWatchdog)
		}
		n.tell(status(standing(ctx)))
	}
}

// supervise has the supervisor told how the program goes. The listeners are open when it is called.
func (p *Program) supervise(ctx context.Context) error {
	p.notifier.run(ctx, func() string { return hung(p.log.Gauges()) }, p.standing)
	return nil
}

// hung says why only a restart can help, or "". What readyz says is no reason, and maintenance of the file may take long.
func hung(g sqlite.Gauges) string {
	if g.Writing > stalledAfter && !g.Maintaining {
		return fmt.Sprintf("a transaction has been under way for %s", g.Writing.Round(time.Second))
	}
	return ""
}

// standing is how the program stands, in one line.
func (p *Program) standing(ctx context.Context) string {
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

// codesOf names the first reasons, each code once.
func codesOf(reasons []monitor.Reason) string {
	var codes []string
	for i := range reasons {
		if !slices.Contains(codes, reasons[i].Code) {
			codes = append(codes, reasons[i].Code)
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

// status is the line that sets what the supervisor shows of the program.
func status(text string) string {
	if runes := []rune(text); len(runes) > maxStatus {
		text = string(runes[:maxStatus-3]) + "..."
	}
	return "STATUS=" + strings.ReplaceAll(text, "\n", " ")
}
