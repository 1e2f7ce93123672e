package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/agent/remote"
	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/gateway/gatewaycli"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/remoteworker"
	"github.com/pronto-lab/openclawd/server"
	"github.com/pronto-lab/openclawd/server/settings"
)

// workerFlags are the flags of worker.
type workerFlags struct {
	gateway, tokenFile, stateDir, level, format string
	insecure                                    bool
	worker                                      remote.Registration
	drain                                       time.Duration
}

func newWorker(p *process) *cobra.Command {
	f := workerFlags{}
	list := gatewaycli.WorkerList()
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Do runs of a team on this machine for a server elsewhere",
		Long: `Connects to the gateway of a server and does runs of agents with runs: {on: "worker"}: it asks their models with the keys of this machine, and runs
their files', commands' and web tools here, in this machine's workspaces. The server keeps the log and decides. See docs/operations/workers.md.

Exit codes: 0 ended by a signal; 1 failed; 2 wrong command line; 78 the gateway refuses this worker, or the configuration is invalid.`,
		Example: `  OPENCLAW_WORKER_TOKEN=... openclawd worker --gateway wss://team.example --label gpu --slots 4
  openclawd worker --gateway ws://127.0.0.1:18789 --token-file worker.token --agent eden
  openclawd worker list`,
		Args: subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.worker(cmd.Context(), &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.gateway, "gateway", "", "`URL` of the gateway, ws:// or wss://")
	flags.StringVar(&f.tokenFile, "token-file", "", "`FILE` with the token of workers (default: the variable "+settings.EnvWorkerToken+")")
	flags.StringVar(&f.worker.Name, "name", "", "`NAME` shown to operators (default: the host name)")
	flags.StringArrayVar(&f.worker.Labels, "label", nil, "`LABEL` that runs may ask for; may be repeated")
	flags.StringArrayVar(&f.worker.Agents, "agent", nil, "`AGENT` whose runs are done; may be repeated (default: all)")
	flags.IntVar(&f.worker.Slots, "slots", 2, "maximum `NUMBER` of runs at a time")
	flags.StringVar(&f.stateDir, "state-dir", "", "state `DIR` of this machine, with openclaw.json and workspaces (default ~/.openclaw)")
	flags.DurationVar(&f.drain, "drain", 30*time.Second, "`TIME` that runs may go on for after a signal, before they are given back")
	flags.BoolVar(&f.insecure, "insecure", false, "allow sending the token to another machine over ws://")
	flags.StringVar(&f.level, "log-level", "info", "log `LEVELS`: debug, info, warn or error")
	flags.StringVar(&f.format, "log-format", "text", "log `FORMAT`: text or json")
	cmd.AddCommand(newAskingCommand(p, "worker", &list))
	return cmd
}

func (p *process) worker(ctx context.Context, f *workerFlags) error {
	o := remoteworker.Options{URL: f.gateway, Worker: f.worker, Drain: f.drain}
	if err := checkWorkerURL(f); err != nil {
		return err
	}
	var err error
	if o.Token, err = p.workerToken(f); err != nil {
		return err
	}
	machine := remoteworker.Machine{StateDir: f.stateDir, Getenv: p.getenv, Now: p.now, Protected: []string{f.tokenFile}}
	if machine.StateDir == "" {
		if machine.StateDir, err = p.stateDir(); err != nil {
			return err
		}
	}
	if machine.Logger, err = server.NewLogger(p.stderr, f.level, f.format); err != nil {
		return err
	}
	conf, findings := config.Load(settings.File(machine.StateDir), p.getenv)
	if err := findings.Err(); err != nil {
		return err
	}
	machine.Config = conf
	release, err := machine.Equip(&o)
	if err != nil {
		return err
	}
	defer release()
	host, _ := os.Hostname()
	o.Worker.Protocol, o.Worker.Version, o.Worker.Name = remote.Protocol, buildinfo.Read().Version, cmp.Or(f.worker.Name, host, "worker")
	err = remoteworker.Run(ctx, o)
	var refused *remoteworker.RefusedError
	if errors.As(err, &refused) {
		return &config.SettingError{Setting: "--gateway", Value: f.gateway, Err: refused.Err, HintText: refused.Hint()}
	}
	return err
}

func checkWorkerURL(f *workerFlags) error {
	u, err := url.Parse(f.gateway)
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Hostname() == "" || u.User != nil {
		return &config.SettingError{Setting: "--gateway", Err: errors.New("it is not a gateway URL"),
			HintText: "give one such as wss://team.example or ws://127.0.0.1:18789, without user name and password"}
	}
	if u.Scheme == "ws" && !apiclient.IsLoopback(u.Hostname()) && !f.insecure {
		return &config.SettingError{Setting: "--gateway", Value: f.gateway, Err: errors.New("the token sent to another machine over ws:// can be read in transit"),
			HintText: "use wss://, or a tunnel to 127.0.0.1; --insecure overrides this"}
	}
	return nil
}

// workerToken is the token of workers. It is no flag: other users of the machine would see it.
func (p *process) workerToken(f *workerFlags) (config.Secret, error) {
	if f.tokenFile == "" {
		if token := strings.TrimSpace(p.getenv(settings.EnvWorkerToken)); token != "" {
			return config.Secret(token), nil
		}
		return "", &config.SettingError{Setting: settings.EnvWorkerToken, Err: errors.New("there is no token"),
			HintText: "set it to the server's gateway.auth.workerToken, or give --token-file"}
	}
	text, err := os.ReadFile(f.tokenFile)
	if err != nil {
		return "", fmt.Errorf("read the token of workers: %w", err)
	}
	return config.Secret(strings.TrimSpace(string(text))), nil
}
