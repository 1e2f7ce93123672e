package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
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
func runPush(ctx context.Context, b *bench) error {
	return b.rounds(ctx, func(ctx context.Context, _ int, v values) error {
		one, err := b.measurePush(ctx, 1, pushLines)
		if err != nil {
			return err
		}
		many, err := b.measurePush(ctx, pushSubscribers, fanoutEvents)
		if err != nil {
			return err
		}
		lines, err := b.measureLines(ctx)
		v.add("append", median(one))
		v.add("fan-out p99", quantile(many, 0.99))
		v.add("line", median(lines))
		return err
	}, func(v values) []figure {
		note := "fsync per event, " + b.medians()
		return []figure{
			within("push.latency", v.mid("append"), "ms", 2, fmt.Sprintf("from the call that appends an event until a WebSocket client has its frame, median of %d; %s", pushLines, note)),
			within("push.line.latency", v.mid("line"), "ms", 4, fmt.Sprintf("from the write of a line to the log of serve --follow, a process of its own, until the frame, median of %d; %s", pushLines, note)),
			within("push.fanout.p99", v.mid("fan-out p99"), "ms", 40, fmt.Sprintf("from the call that appends an event (700 bytes of data, a frame of 1.8 KB) until each of %d clients in the same process has it, p99 of %d events; %s", pushSubscribers, fanoutEvents, note)),
		}
	})
}

// measurePush appends events, one at a time, and returns how many ms later each of some clients had the frame.
func (b *bench) measurePush(ctx context.Context, subscribers, events int) (times []float64, err error) {
	err = b.withLog(ctx, func(log *sqlite.DB) error {
		m := monitor.New(monitor.Options{Store: log, Rules: coordination.RulesV2})
		address, stop, err := listen(ctx, m.Handler(), m.Run)
		if err != nil {
			return err
		}
		times, err = pushed("http://"+address, subscribers, events, func(l line) error {
			_, err := log.Append(ctx, l.append())
			return err
		})
		return errors.Join(err, stop())
	})
	return times, err
}

// measureLines writes lines to a log that a server follows, one at a time, and returns how many ms later a client had
// the frame.
func (b *bench) measureLines(ctx context.Context) (times []float64, err error) {
	h, err := b.newHome("")
	if err != nil {
		return nil, err
	}
	logs := ndjson.LogDir(string(h))
	if err := os.MkdirAll(logs, 0o700); err != nil {
		return nil, err
	}
	file, err := os.Create(filepath.Join(logs, ndjson.LiveLog))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	err = b.serving(ctx, h, func(s *server) (err error) {
		times, err = pushed(s.url, 1, pushLines, func(l line) error {
			_, err := file.Write(l.ndjson(nil))
			return err
		})
		return err
	}, following)
	return times, err
}

// pushed makes events happen one at a time, and returns how many ms later each of some clients had the frame.
func pushed(url string, subscribers, events int, happen func(line) error) (times []float64, err error) {
	clients, err := subscribe(url, subscribers)
	defer clients.close()
	if err != nil {
		return nil, err
	}
	team := newCorpus(1, time.Now().UnixMilli())
	for range events {
		next := team.next()
		arrived := clients.expect()
		start := time.Now()
		if err := happen(next); err != nil {
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
	times, ended := make([]time.Time, len(s)), make(chan error, 1)
	go func() {
		ended <- together(len(s), func(i int) (err error) {
			times[i], err = nextEvent(s[i])
			return err
		})
	}()
	return func() ([]time.Time, error) { return times, <-ended }
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
