package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/server"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// serving holds the flags of serve.
type serving struct {
	stateDir, db, api, gateway, classifier, clock string
	logLevel, logFormat                           string
	durability, discordAPI, controlUI             string
	backups                                       server.BackupOptions
	verifyEvery                                   time.Duration
	hosts                                         []string
	follow, sample                                bool
}

func newServe(p *process) *cobra.Command {
	var s serving
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the Task-Monitor API and the gateway from the event log",
		Long: `Opens the log, brings its tables up to date, imports the coordination logs that lie in the state directory, and answers the
Task-Monitor API and clients of the OpenClaw gateway. Each line is imported once, and reading goes on where the last server stopped. Up
to 64 MiB are imported before the first answer; more is imported while the API answers.

With --follow another gateway produces: lines that it writes show as soon as they are complete, nothing is written to its files but what
the API is asked to, and no gateway is opened. Without, our own events go on into its logs/coordination-events.ndjson, which nobody else
may write then.

Clients of the gateway show a token or a password. Where neither is set, a token is made once and kept in openclawd-gateway.token of the
state directory: openclawd token prints the one in force. --gateway off opens no gateway.

--control-ui serves the Control UI of an installed npm package openclaw on the gateway's port: DIR is the package, or its dist/control-ui.
openclawd has no such page of its own. Open http://127.0.0.1:18789/#token=TOKEN.

SIGTERM and SIGINT let requests finish and end with exit code 0. A second server on the same database is refused with exit code 75.

SIGHUP reads openclaw.json again; a change of it is noticed without.

Environment: OPENCLAW_STATE_DIR, TASK_MONITOR_HOST and TASK_MONITOR_PORT stand for --state-dir and --api, TASK_MONITOR_WRITE_TOKEN,
TASK_HUB_URL and TASK_HUB_PROXY_COOKIE for settings of openclaw.json; OPENCLAW_GATEWAY_PORT, OPENCLAW_GATEWAY_TOKEN and
OPENCLAW_GATEWAY_PASSWORD for those of its gateway. Flags win over variables, variables over openclaw.json.`,
		Example: `  openclawd serve                               # the gateway of ~/.openclaw, in OpenClaw's place
  openclawd serve --follow                      # beside a running OpenClaw, on ~/.openclaw
  openclawd serve --sample                      # sample data in a temporary directory
  openclawd serve --control-ui "$(npm root -g)/openclaw"   # with OpenClaw's page at http://127.0.0.1:18789/
  openclawd serve --state-dir ./team --api 127.0.0.1:0 --gateway 127.0.0.1:0
  openclawd serve --state-dir ./home --clock 2026-02-20T12:00:00Z --classifier v1   # replay under a frozen clock`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.serve(cmd.Context(), s) },
	}
	flags := cmd.Flags()
	flags.StringVar(&s.stateDir, "state-dir", "", "OpenClaw's state `DIR` (default ~/.openclaw); need not exist")
	addDB(cmd, &s.db)
	flags.StringVar(&s.api, "api", "", "`ADDR` of the API (default 127.0.0.1:3847); one that other machines reach needs a write token")
	flags.StringVar(&s.gateway, "gateway", "", "`ADDR` of the gateway (default 127.0.0.1:18789), or off; not with --follow")
	flags.StringVar(&s.controlUI, "control-ui", "", "serve the Control UI of an installed npm package openclaw, whose `DIR` this is, on the gateway's port")
	flags.BoolVar(&s.follow, "follow", false, "another gateway produces the events of the state directory")
	flags.BoolVar(&s.sample, "sample", false, "serve sample data, its times moved to now, from a temporary directory")
	flags.StringSliceVar(&s.hosts, "allow-host", nil, "further `NAME` under which the API and the gateway may be asked; may be repeated")
	flags.StringVar(&s.durability, "durability", string(sqlite.DurabilityFull), "`MODE`: full: an event is on disk before it is acknowledged; relaxed: a power cut may take the last ones")
	addClassifier(cmd, &s.classifier)
	addBackups(flags, &s.backups)
	addVerifyEvery(flags, &s.verifyEvery)
	flags.StringVar(&s.discordAPI, "discord-api", "", "`URL` of a server that bots talk to instead of Discord, e.g. one for tests; plain http on this machine only")
	flags.StringVar(&s.clock, "clock", "", "stop the clock at `TIME` (RFC 3339), to replay and to compare answers")
	flags.StringVar(&s.logLevel, "log-level", "info", "`LEVELS`: debug, info, warn or error, and others for components, e.g. info,monitor=debug,import=warn")
	flags.StringVar(&s.logFormat, "log-format", "text", "`FORMAT`: text or json")
	return cmd
}

func (p *process) serve(ctx context.Context, s serving) (err error) {
	opts, err := p.options(s)
	if err != nil {
		return err
	}
	if s.sample {
		home, err := newSampleHome(opts.Now())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, home.remove()) }()
		opts.StateDir, opts.DB = home.dir, filepath.Join(home.dir, database.Name)
	}
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	defer signal.Stop(reload)
	opts.Reload = reload
	var program *server.Program
	opts.Ready = func(api, gateway net.Addr) { p.announce(s, opts.StateDir, api, gateway, program.PageAddress()) }
	if opts.Supervisor, err = server.SupervisorOfProcess(p.getenv); err != nil {
		opts.Logger.Warn("the watchdog of the service manager cannot be answered", "err", err)
	}
	program = server.New(opts)
	return errors.Join(program.Run(ctx), program.Close())
}

// announce says on standard output where the API is, "listening on URL", then where the gateway is, "gateway on URL", and the page,
// "control UI on URL": lines that scripts may rely on.
func (p *process) announce(s serving, stateDir string, api, gateway net.Addr, page string) {
	fmt.Fprintf(p.stdout, "listening on http://%s\n", api)
	if gateway != nil {
		fmt.Fprintf(p.stdout, "gateway on ws://%s\n", gateway)
	}
	if page != "" {
		fmt.Fprintf(p.stdout, "control UI on %s\n", page)
	}
	if s.sample {
		fmt.Fprintf(p.stdout, "try: curl -s '%s/api/work-sessions?limit=3'\n", api)
		if gateway != nil {
			place := ""
			if api.String() != settings.Of(config.Default(), p.getenv, "", nil).API.Value {
				place = " --state-dir " + stateDir // nobody looks there unasked
			}
			fmt.Fprintf(p.stdout, "try: %s agent \"hello\" --agent eden%s\n", cmp.Or(p.name, "openclawd"), place)
		}
	}
}

// options gathers what flags, environment and defaults say, and refuses what makes no sense.
func (p *process) options(s serving) (server.Options, error) {
	if s.sample && (s.stateDir != "" || s.db != "") {
		return server.Options{}, &usageError{command: "openclawd serve", err: errors.New("--sample brings its own --state-dir and --db")}
	}
	if s.follow && s.gateway != "" && s.gateway != settings.NoGateway {
		return server.Options{}, &usageError{command: "openclawd serve",
			err: errors.New("--follow opens no gateway, for another one produces: leave --gateway away")}
	}
	if s.controlUI != "" && (s.follow || s.gateway == settings.NoGateway) {
		return server.Options{}, &usageError{command: "openclawd serve", err: errors.New("--control-ui is served on the gateway's port, and none is opened")}
	}
	opts := server.Options{ControlUI: s.controlUI, StateDir: s.stateDir, API: s.api, Gateway: s.gateway, Getenv: p.getenv, Follow: s.follow, Hosts: s.hosts,
		Mirror: !s.follow && !s.sample, DiscordAPI: s.discordAPI}
	var errs [7]error
	if opts.StateDir == "" && !s.sample {
		opts.StateDir, errs[0] = p.stateDir()
	}
	opts.DB = cmp.Or(s.db, filepath.Join(opts.StateDir, database.Name))
	opts.Rules, errs[1] = parseClassifier(s.classifier)
	opts.Now, errs[2] = p.clock(s.clock)
	opts.Logger, errs[3] = server.NewLogger(p.stderr, s.logLevel, s.logFormat)
	opts.Durability, errs[4] = parseDurability(s.durability)
	opts.Backups, errs[5] = checkBackups(s.backups, s.sample || s.clock != "")
	opts.Verify, errs[6] = checkVerifyEvery(s.verifyEvery, s.sample || s.clock != "")
	return opts, cmp.Or(errs[:]...)
}

func parseDurability(flag string) (sqlite.Durability, error) {
	switch d := sqlite.Durability(flag); d {
	case sqlite.DurabilityFull, sqlite.DurabilityRelaxed:
		return d, nil
	}
	return "", &settings.Error{Setting: "--durability", Value: flag, Mend: "use full or relaxed"}
}

// clock is the process's, or one that stands still.
func (p *process) clock(flag string) (func() time.Time, error) {
	if flag == "" {
		return p.now, nil
	}
	t, err := time.Parse(time.RFC3339, flag)
	if err != nil {
		return nil, &settings.Error{Setting: "--clock", Value: flag, Mend: "give a time such as 2026-02-20T12:00:00Z"}
	}
	return func() time.Time { return t }, nil
}
