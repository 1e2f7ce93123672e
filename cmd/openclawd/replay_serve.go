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

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/past"
	"github.com/pronto-lab/openclawd/cmd/openclawd/player"
	"github.com/pronto-lab/openclawd/cmd/openclawd/server"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/buildinfo"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections/search"
	"github.com/pronto-lab/openclawd/tools/continuation"
)

// replayServing holds the flags of replay --serve.
type replayServing struct {
	serve, exit, wait bool
	speed, from, to   string
	api               string
	maxPause          time.Duration
	hosts             []string
}

// servingFlags are those that mean nothing without --serve.
func servingFlags() []string {
	return []string{"speed", "from", "to", "api", "max-pause", "exit", "wait", "allow-host"}
}

func (r *replayServing) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&r.serve, "serve", false, "play a range of the log again over the API and /ws, read-only")
	flags.StringVar(&r.speed, "speed", "1x", "with --serve: `SPEED`, e.g. 10x, or max for no pauses")
	flags.StringVar(&r.from, "from", "1", "with --serve: first `POINT`")
	flags.StringVar(&r.to, "to", "head", "with --serve: last `POINT`")
	flags.StringVar(&r.api, "api", "127.0.0.1:0", "with --serve: `ADDR` to answer at")
	flags.DurationVar(&r.maxPause, "max-pause", 5*time.Second, "with --serve: at most this `TIME` between two events, as they are played; 0: as it was")
	flags.BoolVar(&r.exit, "exit", false, "with --serve: end when the last event was played")
	flags.BoolVar(&r.wait, "wait", false, "with --serve: begin when somebody is on /ws")
	flags.StringSliceVar(&r.hosts, "allow-host", nil, "with --serve: further `NAME` under which the API may be asked; may be repeated")
}

// asked reports whether a range is to be played, and refuses flags that do not go together.
func (r *replayServing) asked(flags *pflag.FlagSet) (bool, error) {
	if !r.serve {
		for _, name := range servingFlags() {
			if flags.Changed(name) {
				return false, &usageError{"openclawd replay", fmt.Errorf("--%s is for --serve", name)}
			}
		}
		return false, nil
	}
	for _, name := range []string{"until", "out", "diff", "table", "limit", jsonFlag} {
		if flags.Changed(name) {
			return false, &usageError{"openclawd replay", fmt.Errorf("--serve plays a range: leave out --%s", name)}
		}
	}
	return true, nil
}

// parseSpeed reads how much faster events are played: 10x, 0.5, max.
func parseSpeed(flag string) (float64, error) {
	if flag == "max" {
		return 0, nil
	}
	speed, err := strconv.ParseFloat(strings.TrimSuffix(flag, "x"), 64)
	if err != nil || !(speed > 0 && speed <= 1e6) {
		return 0, &settings.Error{Setting: "--speed", Value: flag, Mend: "give a number such as 10x, or max"}
	}
	return speed, nil
}

func (p *process) replayServe(ctx context.Context, db string, rules coordination.Rules, r replayServing) (err error) {
	speed, err := parseSpeed(r.speed)
	if err != nil {
		return err
	}
	if r.maxPause < 0 {
		return &settings.Error{Setting: "--max-pause", Value: r.maxPause.String(), Mend: "give a length of time such as 5s, or 0"}
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
	to, err := past.Resolve(ctx, log, r.to)
	if err != nil {
		return err
	}
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", r.api)
	if err != nil {
		return &settings.Error{Setting: "--api", Value: r.api, Err: err, Mend: "name another address, e.g. 127.0.0.1:0 for any free port"}
	}
	defer listener.Close() // player.Serve has closed it, unless this ends before
	temp, err := past.NewTemp("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, temp.Close()) }()
	bar := p.eventProgress("replay")
	playing, err := player.Open(ctx, player.Options{Log: log, Dir: temp.Dir(), Rules: rules, From: from, To: to, Speed: speed, MaxPause: r.maxPause}, bar.tell)
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
	show := &playback{p: p, r: r, player: playing, index: index, to: to, api: p.pastAPI(playing, index, rules, r.hosts)}
	err = show.run(ctx, listener)
	if ctx.Err() != nil {
		return nil // Ctrl-C is how it ends
	}
	return err
}

// playback plays a range until somebody ends it.
type playback struct {
	p      *process
	r      replayServing
	player *player.Player
	index  *search.Index
	api    *monitor.Server
	to     int64
}

// errPlayed ends the services of a range that has been played.
var errPlayed = errors.New("played")

func (s *playback) run(ctx context.Context, listener net.Listener) error {
	fmt.Fprintf(s.p.stdout, "listening on http://%s\n", listener.Addr())
	services, ctx := errgroup.WithContext(ctx)
	services.Go(func() error { return player.Serve(ctx, listener, s.player.ReadOnly(s.api.Handler())) })
	services.Go(func() error { return s.api.Run(ctx) })
	services.Go(func() error { return s.index.Run(ctx) })
	services.Go(func() error { return s.tell(ctx) })
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

// until waits until something holds, and reports whether it does: false means that ctx has ended.
func (s *playback) until(ctx context.Context, holds func() bool) bool {
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

// tell says on a terminal where the past is, now and then, until ctx ends.
func (s *playback) tell(ctx context.Context) error {
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
			where += "; it stays so until Ctrl-C"
		}
		fmt.Fprintf(s.p.stderr, "\r\x1b[K%s", where)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// pastAPI answers from what is played. What only a running program knows it does not say.
func (p *process) pastAPI(playing *player.Player, index *search.Index, rules coordination.Rules, hosts []string) *monitor.Server {
	opts := monitor.Options{Store: playing, Rules: rules, Now: playing.Now, Version: buildinfo.Read().Version, Settings: monitor.Settings{Hosts: hosts, Sealed: true},
		Search: index, MilestoneInterval: -1, NoFiles: true,
		Policy: func(from, to string) (monitor.Policy, error) { return server.Explain(playing.Config(), from, to) }}
	if playing.Own() {
		opts.OwnTasks = &monitor.OwnTasks{Team: func() (team []monitor.Member) {
			for _, a := range playing.Config().Agents {
				team = append(team, monitor.Member{ID: a.ID, Role: a.Role})
			}
			return team
		}}
		opts.Continuation = func(ctx context.Context, tx *sql.Tx, agent string) (monitor.Explained, bool, error) {
			var restartedAt time.Time // when a process began is not in the log
			e, kept, err := continuation.Explain(ctx, tx, playing.Config(), agent, playing.Now(), restartedAt)
			return monitor.Explained(e), kept, err
		}
	}
	return monitor.New(opts)
}

// first is the first event that a point means: of a time the first one recorded then or later. It is 1 before the first event.
func (p *process) first(ctx context.Context, log *sqlite.DB, point string) (int64, error) {
	text := strings.TrimSpace(point)
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		at, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		before, err := past.Resolve(ctx, log, at.Add(-time.Millisecond).Format(time.RFC3339Nano))
		return before + 1, err
	}
	if text == "1" {
		return 1, nil // also of an empty log
	}
	seq, err := past.Resolve(ctx, log, text)
	return max(seq, 1), err
}
