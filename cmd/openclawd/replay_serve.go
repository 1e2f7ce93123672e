package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/policy"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/search"
	"github.com/pronto-lab/openclawd/replay/asof"
	"github.com/pronto-lab/openclawd/replay/playback"
	"github.com/pronto-lab/openclawd/services/access"
	"github.com/pronto-lab/openclawd/services/continuer"
)

type replayServeFlags struct {
	serve, exit, wait bool
	speed, from, to   string
	api               string
	maxPause          time.Duration
	hosts             []string
}

// servingFlags are the flags that require --serve.
func servingFlags() []string {
	return []string{"speed", "from", "to", "api", "max-pause", "exit", "wait", "allow-host"}
}

func (r *replayServeFlags) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&r.serve, "serve", false, "play back a range of the log over the API and /ws, read-only")
	flags.StringVar(&r.speed, "speed", "1x", "with --serve: playback `SPEED`, e.g. 10x, or max for no pauses")
	flags.StringVar(&r.from, "from", "1", "with --serve: `POINT` of the first event to play")
	flags.StringVar(&r.to, "to", "head", "with --serve: `POINT` of the last event to play")
	flags.StringVar(&r.api, "api", "127.0.0.1:0", "with --serve: `ADDR` to listen on")
	flags.DurationVar(&r.maxPause, "max-pause", 5*time.Second, "with --serve: longest pause `TIME` between two played events; 0 is unlimited")
	flags.BoolVar(&r.exit, "exit", false, "with --serve: exit after the last event")
	flags.BoolVar(&r.wait, "wait", false, "with --serve: wait for a client of /ws before playing")
	flags.StringSliceVar(&r.hosts, "allow-host", nil, "with --serve: additional host `NAME` accepted by the API; may be repeated")
}

// requested reports whether a range is to be played back, and rejects flags that cannot be combined.
func (r *replayServeFlags) requested(flags *pflag.FlagSet) (bool, error) {
	if !r.serve {
		for _, name := range servingFlags() {
			if flags.Changed(name) {
				return false, &usageError{"openclawd replay", fmt.Errorf("--%s requires --serve", name)}
			}
		}
		return false, nil
	}
	for _, name := range []string{"until", "out", "diff", "table", "limit", jsonFlag} {
		if flags.Changed(name) {
			return false, &usageError{"openclawd replay", fmt.Errorf("--serve plays back a range: omit --%s", name)}
		}
	}
	return true, nil
}

// parseSpeed parses a speed factor: 10x, 0.5, max.
func parseSpeed(flag string) (float64, error) {
	if flag == "max" {
		return 0, nil
	}
	speed, err := strconv.ParseFloat(strings.TrimSuffix(flag, "x"), 64)
	if err != nil || !(speed > 0 && speed <= 1e6) {
		return 0, &config.SettingError{Setting: "--speed", Value: flag, HintText: "give a factor such as 10x, or max"}
	}
	return speed, nil
}

func (p *process) replayServe(ctx context.Context, db string, rules coordination.Rules, r replayServeFlags) (err error) {
	speed, err := parseSpeed(r.speed)
	if err != nil {
		return err
	}
	if r.maxPause < 0 {
		return &config.SettingError{Setting: "--max-pause", Value: r.maxPause.String(), HintText: "give a duration such as 5s, or 0"}
	}
	log, err := p.openToReplay(ctx, db)
	if err != nil {
		return err
	}
	defer log.Close()
	from, err := p.first(ctx, log, r.from)
	if err != nil {
		return err
	}
	to, err := asof.Resolve(ctx, log, r.to)
	if err != nil {
		return err
	}
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", r.api)
	if err != nil {
		return &config.SettingError{Setting: "--api", Value: r.api, Err: err, HintText: "choose another address, e.g. 127.0.0.1:0 for any free port"}
	}
	defer listener.Close() // normally closed by Serve; this is for early returns
	temp, err := asof.NewTemp("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, temp.Close()) }()
	bar := p.eventProgress("replay")
	playing, err := playback.Open(ctx, playback.Options{Log: log, Dir: temp.Dir(), Rules: rules, From: from, To: to, Speed: speed, MaxPause: r.maxPause}, bar.update)
	bar.end()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, playing.Close()) }()
	side, err := sqlite.OpenSide(ctx, filepath.Join(temp.Dir(), "search.db"), false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, side.Close()) }()
	index, err := search.Open(ctx, search.Options{Log: playing, File: side, Rules: rules})
	if err != nil {
		return err
	}
	show := &playbackServer{p: p, r: r, player: playing, index: index, to: to, api: p.pastAPI(playing, index, rules, r.hosts)}
	err = show.run(ctx, listener)
	if ctx.Err() != nil {
		return nil // Ctrl-C is the normal end
	}
	return err
}

// playbackServer plays back a range and answers the API until it is stopped.
type playbackServer struct {
	p      *process
	r      replayServeFlags
	player *playback.Player
	index  *search.Index
	api    *monitor.Server
	to     int64
}

// errPlayed stops the services when the range has been played back.
var errPlayed = errors.New("played")

func (s *playbackServer) run(ctx context.Context, listener net.Listener) error {
	fmt.Fprintf(s.p.stdout, "listening on http://%s\n", listener.Addr())
	services, ctx := errgroup.WithContext(ctx)
	services.Go(func() error { return playback.Serve(ctx, listener, s.player.ReadOnly(s.api.Handler())) })
	services.Go(func() error { return s.api.Run(ctx) })
	services.Go(func() error { return s.index.Run(ctx) })
	services.Go(func() error { return s.printPosition(ctx) })
	services.Go(func() error {
		if s.r.wait && !s.until(ctx, func() bool { return s.api.PushStats().Clients > 0 }) {
			return nil
		}
		if err := s.player.Run(ctx); err != nil || ctx.Err() != nil {
			return err
		}
		fmt.Fprintf(s.p.stdout, "played to event %d\n", s.to)
		if !s.r.exit {
			return nil
		}
		const patience = 5 * time.Second
		patient, stop := context.WithTimeout(ctx, patience)
		defer stop()
		s.until(patient, func() bool { at := s.api.PushStats(); return at.Seq >= s.to && at.QueuedBytes == 0 })
		return errPlayed
	})
	err := services.Wait()
	if errors.Is(err, errPlayed) {
		return nil
	}
	return err
}

// until waits until a condition holds, and reports whether it does: false means that ctx ended.
func (s *playbackServer) until(ctx context.Context, holds func() bool) bool {
	const often = 20 * time.Millisecond
	ticker := time.NewTicker(often)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
	return true
}

// printPosition prints the playback position to a terminal now and then, until ctx ends.
func (s *playbackServer) printPosition(ctx context.Context) error {
	if !output.IsTerminal(s.p.stderr) {
		return nil
	}
	const often = 500 * time.Millisecond
	ticker := time.NewTicker(often)
	defer ticker.Stop()
	defer fmt.Fprintln(s.p.stderr)
	for {
		head, err := s.player.Head(ctx)
		if err != nil {
			return err
		}
		where := fmt.Sprintf("event %s of %s, %s UTC", output.Thousands(head.Seq), output.Thousands(s.to), output.Time(s.player.Now().UnixMilli()))
		if head.Seq >= s.to {
			where += "; staying there until Ctrl-C"
		}
		fmt.Fprintf(s.p.stderr, "\r\x1b[K%s", where)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// pastAPI answers from the playback, without what only a running server knows.
func (p *process) pastAPI(playing *playback.Player, index *search.Index, rules coordination.Rules, hosts []string) *monitor.Server {
	opts := monitor.Options{Store: playing, Rules: rules, Now: playing.Now, Version: buildinfo.Read().Version, Settings: monitor.Settings{Hosts: hosts, Sealed: true},
		Search: index, MilestoneInterval: -1, NoFiles: true,
		Policy: func(from, to string) (policy.Policy, error) { return access.Explain(playing.Config(), from, to) },
		PolicyMatrix: func(from string, most int) (policy.Matrix, error) {
			return access.ExplainAll(playing.Config(), from, most)
		}}
	if playing.Own() {
		opts.OwnTasks = &monitor.OwnTasks{Team: func() []config.Agent { return playing.Config().Agents }}
		opts.Continuation = func(ctx context.Context, tx *sql.Tx, agent string) (continuation.Explained, bool, error) {
			var restartedAt time.Time // the start time of the process is not in the log
			return continuer.Explain(ctx, tx, playing.Config(), agent, playing.Now(), restartedAt)
		}
	}
	return monitor.New(opts)
}

// first is the first event that a point selects: for a time the first one recorded then or later. It is at least 1.
func (p *process) first(ctx context.Context, log *sqlite.DB, point string) (int64, error) {
	text := strings.TrimSpace(point)
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		at, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		before, err := asof.Resolve(ctx, log, at.Add(-time.Millisecond).Format(time.RFC3339Nano))
		return before + 1, err
	}
	if text == "1" {
		return 1, nil // also for an empty log
	}
	seq, err := asof.Resolve(ctx, log, text)
	return max(seq, 1), err
}
