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

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/server"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/services/samplework"
)

type serveFlags struct {
	stateDir, db, api, gateway, classifier, clock string
	logLevel, logFormat                           string
	durability, discordAPI, controlUI, ui         string
	telegramAPI, slackAPI                         string
	backups                                       server.BackupOptions
	pastSize                                      string
	verifyEvery                                   time.Duration
	hosts                                         []string
	follow, sample                                bool
}

func newServe(p *process) *cobra.Command {
	var s serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the Task-Monitor API and the gateway from the event log",
		Long: `Opens the log, updates its tables, imports the coordination logs in the state directory, and serves the Task-Monitor API and the OpenClaw
gateway. Each line is imported once, and reading continues where the last server stopped. Up to 64 MiB are imported before the first answer;
more is imported while the API answers.

With --follow another gateway produces the events: its lines appear as soon as they are complete, its files are changed only by requests of the
API, and no gateway is opened. Without it, openclawd's own events are appended to logs/coordination-events.ndjson, which nothing else may write
then.

Gateway clients authenticate with a token or a password. If neither is set, a token is created once and kept in openclawd-gateway.token of the
state directory: openclawd token prints the one in force. --gateway off opens no gateway.

Task-Hub, the web page, is below /ui/ of the API's address: openclawd open prints a link that logs in. --ui off serves no page.

--control-ui serves the Control UI of an installed npm package openclaw on the gateway's port: DIR is the package, or its dist/control-ui.
Open http://127.0.0.1:18789/#token=TOKEN.

SIGTERM and SIGINT let requests finish and end with exit code 0. A second server on the same database is refused with exit code 75.

SIGHUP reloads openclaw.json; changes are also detected automatically.

Environment: OPENCLAW_STATE_DIR, TASK_MONITOR_HOST and TASK_MONITOR_PORT correspond to --state-dir and --api, TASK_MONITOR_WRITE_TOKEN,
TASK_HUB_URL and TASK_HUB_PROXY_COOKIE to settings of openclaw.json; OPENCLAW_GATEWAY_PORT, OPENCLAW_GATEWAY_TOKEN and
OPENCLAW_GATEWAY_PASSWORD to those of its gateway. Flags override variables, variables override openclaw.json.`,
		Example: `  openclawd serve                               # the gateway of ~/.openclaw, in place of OpenClaw
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
	flags.StringVar(&s.api, "api", "", "`ADDR` of the API (default 127.0.0.1:3847); one reachable from other machines requires a write token")
	flags.StringVar(&s.gateway, "gateway", "", "`ADDR` of the gateway (default 127.0.0.1:18789), or off; not with --follow")
	flags.StringVar(&s.ui, "ui", "on", "serve Task-Hub, the web page, below /ui/ of the API's address: `MODE` on or off")
	flags.StringVar(&s.controlUI, "control-ui", "", "serve the Control UI of an installed npm package openclaw at `DIR` on the gateway's port")
	flags.BoolVar(&s.follow, "follow", false, "another gateway produces the events of the state directory")
	flags.BoolVar(&s.sample, "sample", false, "serve sample data from a temporary directory, with its times moved to now")
	flags.StringSliceVar(&s.hosts, "allow-host", nil, "additional host `NAME` accepted by the API and the gateway; may be repeated")
	flags.StringVar(&s.durability, "durability", string(sqlite.DurabilityFull), "`MODE`: full: an event is on disk before it is acknowledged; relaxed: a power failure may lose the last ones")
	addClassifier(cmd, &s.classifier)
	addBackups(flags, &s.backups)
	addVerifyEvery(flags, &s.verifyEvery)
	addPastSize(flags, &s.pastSize)
	flags.StringVar(&s.discordAPI, "discord-api", "", "`URL` of a server to use in place of Discord, e.g. for tests; plain http on this machine only")
	flags.StringVar(&s.slackAPI, "slack-api", "", "`URL` of a server to use in place of Slack, e.g. for tests; plain http on this machine only")
	flags.StringVar(&s.telegramAPI, "telegram-api", "", "`URL` of a server to use in place of Telegram, e.g. for tests; plain http on this machine only")
	flags.StringVar(&s.clock, "clock", "", "freeze the clock at `TIME` (RFC 3339), to replay and to compare answers")
	flags.StringVar(&s.logLevel, "log-level", "info", "log `LEVELS`: debug, info, warn or error, optionally per component, e.g. info,monitor=debug,import=warn")
	flags.StringVar(&s.logFormat, "log-format", "text", "log `FORMAT`: text or json")
	return cmd
}

func (p *process) serve(ctx context.Context, s serveFlags) (err error) {
	opts, err := p.options(s)
	if err != nil {
		return err
	}
	if s.sample {
		home, err := newSampleHome(opts.Now())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, home.Remove()) }()
		opts.StateDir, opts.DB, opts.SampleWork = home.Dir, filepath.Join(home.Dir, database.Name), samplework.Every
	}
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	defer signal.Stop(reload)
	opts.Reload = reload
	var program *server.Program
	opts.Ready = func(api, gateway net.Addr) { p.announce(s, opts.StateDir, api, gateway, program) }
	if opts.Supervisor, err = server.SupervisorOfProcess(p.getenv); err != nil {
		opts.Logger.Warn("cannot notify the service manager's watchdog", "err", err)
	}
	program = server.New(opts)
	return errors.Join(program.Run(ctx), program.Close())
}

// announce prints the addresses to standard output: "listening on URL" for the API, then "gateway on URL", "control UI on URL" and
// "Task-Hub on URL". Scripts may rely on these lines.
func (p *process) announce(s serveFlags, stateDir string, api, gateway net.Addr, program *server.Program) {
	fmt.Fprintf(p.stdout, "listening on http://%s\n", api)
	if gateway != nil {
		fmt.Fprintf(p.stdout, "gateway on ws://%s\n", gateway)
	}
	if page := program.PageAddress(); page != "" {
		fmt.Fprintf(p.stdout, "control UI on %s\n", page)
	}
	if link := program.HubLink(s.sample); link != "" {
		fmt.Fprintf(p.stdout, "Task-Hub on %s\n", link)
	}
	if s.sample {
		fmt.Fprintf(p.stdout, "try: curl -s '%s/api/work-sessions?limit=3'\n", api)
		if gateway != nil {
			place := ""
			if api.String() != settings.Of(config.Default(), p.getenv, "", nil).API.Value {
				place = " --state-dir " + stateDir // only printed for people
			}
			fmt.Fprintf(p.stdout, "try: %s agent \"hello\" --agent eden%s\n", cmp.Or(p.name, "openclawd"), place)
		}
	}
}

// options combines flags, environment and defaults, and rejects invalid combinations.
func (p *process) options(s serveFlags) (server.Options, error) {
	if s.sample && (s.stateDir != "" || s.db != "") {
		return server.Options{}, &usageError{command: "openclawd serve", err: errors.New("--sample uses its own --state-dir and --db")}
	}
	if s.follow && s.gateway != "" && s.gateway != settings.NoGateway {
		return server.Options{}, &usageError{command: "openclawd serve",
			err: errors.New("--follow opens no gateway, because another one produces the events: omit --gateway")}
	}
	if s.controlUI != "" && (s.follow || s.gateway == settings.NoGateway) {
		return server.Options{}, &usageError{command: "openclawd serve", err: errors.New("--control-ui needs the gateway, and none is opened")}
	}
	opts := server.Options{ControlUI: s.controlUI, StateDir: s.stateDir, API: s.api, Gateway: s.gateway, Getenv: p.getenv, Follow: s.follow, Hosts: s.hosts,
		Mirror: !s.follow && !s.sample, DiscordAPI: s.discordAPI, TelegramAPI: s.telegramAPI, SlackAPI: s.slackAPI}
	var errs [9]error
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
	opts.NoUI, errs[7] = parseUI(s.ui)
	opts.PastBytes, errs[8] = checkPastSize(s.pastSize)
	return opts, cmp.Or(errs[:]...)
}

func parseUI(flag string) (off bool, err error) {
	switch flag {
	case "", "on":
		return false, nil
	case "off":
		return true, nil
	}
	return false, &config.SettingError{Setting: "--ui", Value: flag, HintText: "use on or off"}
}

func parseDurability(flag string) (sqlite.Durability, error) {
	switch d := sqlite.Durability(flag); d {
	case sqlite.DurabilityFull, sqlite.DurabilityRelaxed:
		return d, nil
	}
	return "", &config.SettingError{Setting: "--durability", Value: flag, HintText: "use full or relaxed"}
}

// clock is the system clock, or a frozen one.
func (p *process) clock(flag string) (func() time.Time, error) {
	if flag == "" {
		return p.now, nil
	}
	t, err := time.Parse(time.RFC3339, flag)
	if err != nil {
		return nil, &config.SettingError{Setting: "--clock", Value: flag, HintText: "give a time such as 2026-02-20T12:00:00Z"}
	}
	return func() time.Time { return t }, nil
}
