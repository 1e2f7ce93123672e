package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/monitor"
)

// Sizes of one round of the push benchmark.
const (
	pushLines       = 200
	fanoutEvents    = 20
	pushSubscribers = 1_000
)

// runPush measures how long it takes until clients of /ws receive an event.
func runPush(ctx context.Context, b *bench) ([]figure, error) {
	var latency, fanout, lines []float64
	for round := range b.Rounds {
		one, err := b.measurePush(ctx, fmt.Sprintf("push-one-%d.db", round), 1, pushLines)
		if err != nil {
			return nil, err
		}
		many, err := b.measurePush(ctx, fmt.Sprintf("push-many-%d.db", round), pushSubscribers, fanoutEvents)
		if err != nil {
			return nil, err
		}
		followed, err := b.measureLines(ctx, round)
		if err != nil {
			return nil, err
		}
		b.logf("push round %d: append %.1f ms, line %.1f ms (p99 %.1f), fan-out p99 %.1f ms", round+1, median(one), median(followed),
			quantile(followed, 0.99), quantile(many, 0.99))
		latency, fanout, lines = append(latency, median(one)), append(fanout, quantile(many, 0.99)), append(lines, median(followed))
	}
	note := fmt.Sprintf("fsync per event, median of %d rounds", b.Rounds)
	return []figure{
		within("push.latency", median(latency), "ms", 50, fmt.Sprintf("from the call that appends an event until a WebSocket client has its frame, median of %d; %s", pushLines, note)),
		within("push.line.latency", median(lines), "ms", 50, fmt.Sprintf("from the write of a line to the log of serve --follow, a process of its own, until the frame, median of %d; %s", pushLines, note)),
		within("push.fanout.p99", median(fanout), "ms", 250, fmt.Sprintf("from the call that appends an event (700 bytes of data, a frame of 1.8 KB) until each of %d clients in the same process has it, p99 of %d events; %s", pushSubscribers, fanoutEvents, note)),
	}, nil
}

// measurePush appends events, one at a time, and returns how many ms later each of some clients had the frame.
func (b *bench) measurePush(ctx context.Context, name string, subscribers, events int) (times []float64, err error) {
	log, _, err := openLog(ctx, filepath.Join(b.Dir, name))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	url, stop, err := servePush(ctx, log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	clients, err := subscribe(url, subscribers)
	defer clients.close()
	if err != nil {
		return nil, err
	}
	team := newCorpus(1, time.Now().UnixMilli())
	for range events {
		arrived := clients.expect()
		start := time.Now()
		if _, err := log.Append(ctx, team.next().append()); err != nil {
			return nil, err
		}
		each, err := arrived()
		if err != nil {
			return nil, err
		}
		for _, at := range each {
			times = append(times, milliseconds(at.Sub(start)))
		}
	}
	return times, nil
}

// measureLines writes lines to a log that a server follows, one at a time, and returns how many ms later a client had
// the frame.
func (b *bench) measureLines(ctx context.Context, round int) (times []float64, err error) {
	home := filepath.Join(b.Dir, fmt.Sprintf("push-home-%d", round))
	if err := os.MkdirAll(filepath.Join(home, "logs"), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(home, "logs", "coordination-events.ndjson"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	s, err := b.startServer(ctx, filepath.Join(home, "openclawd.db"), "--follow", "--state-dir", home)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	clients, err := subscribe(s.url, 1)
	defer clients.close()
	if err != nil {
		return nil, err
	}
	team := newCorpus(1, time.Now().UnixMilli())
	for range pushLines {
		text := team.next().ndjson(nil)
		arrived := clients.expect()
		start := time.Now()
		if _, err := file.Write(text); err != nil {
			return nil, err
		}
		each, err := arrived()
		if err != nil {
			return nil, fmt.Errorf("a line was not pushed: %w", err)
		}
		times = append(times, milliseconds(each[0].Sub(start)))
	}
	return times, nil
}

func servePush(ctx context.Context, log *sqlite.DB) (url string, stop func() error, err error) {
	m := monitor.New(monitor.Options{Store: log, Rules: coordination.RulesV2})
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: m.Handler(), ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	running, cancel := context.WithCancel(ctx)
	var ran error
	var wg sync.WaitGroup
	wg.Go(func() { ran = m.Run(running) })
	wg.Go(func() { _ = server.Serve(listener) })
	return "http://" + listener.Addr().String(), func() error {
		cancel()
		err := server.Close()
		wg.Wait()
		return errors.Join(ran, err)
	}, nil
}

type subscribers []*websocket.Conn

func subscribe(url string, n int) (subscribers, error) {
	var s subscribers
	for range n {
		conn, answer, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(url, "http")+"/ws", nil)
		if err != nil {
			return s, err
		}
		_ = answer.Body.Close()
		s = append(s, conn)
		if _, _, err := conn.ReadMessage(); err != nil { // connected
			return s, err
		}
	}
	return s, nil
}

// expect makes all clients read. The returned function waits until each has received its next event, and returns when.
func (s subscribers) expect() (arrived func() ([]time.Time, error)) {
	times, errs := make([]time.Time, len(s)), make([]error, len(s))
	var wg sync.WaitGroup
	for i, conn := range s {
		wg.Go(func() { times[i], errs[i] = nextEvent(conn) })
	}
	return func() ([]time.Time, error) {
		wg.Wait()
		return times, errors.Join(errs...)
	}
}

func nextEvent(conn *websocket.Conn) (time.Time, error) {
	const patience = 30 * time.Second
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return time.Time{}, err
	}
	for {
		_, text, err := conn.ReadMessage()
		if err != nil || bytes.HasPrefix(text, []byte(`{"type":"coordination_event_new"`)) {
			return time.Now(), err
		}
	}
}

func (s subscribers) close() {
	for _, conn := range s {
		_ = conn.Close()
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
