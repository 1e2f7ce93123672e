package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/projections/runs"
)

// wait lets many messages wait while the model is blocked, measures their cost, and then has them all answered.
func (s *runsServer) wait(ctx context.Context, queued int, v values) error {
	for session := range runsHomes { // excludes the cost of the sessions
		if err := s.run(ctx, session, session); err != nil {
			return err
		}
	}
	s.asked += runsHomes
	s.model.hold()
	defer s.model.release()
	if err := s.send(ctx, runsLanes); err != nil { // excludes the cost of running messages
		return err
	}
	if err := s.costOf(ctx, v, queued, func() error { return s.send(ctx, queued) }); err != nil {
		return err
	}
	took, err := seconds(func() error {
		s.model.release()
		return until(ctx, 50*time.Millisecond, "the end of all runs", s.drained(ctx))
	})
	v.add("drained", float64(queued)/took)
	return err
}

// costOf measures what it costs the server that so many things wait, and how fast it takes them.
func (s *server) costOf(ctx context.Context, v values, n int, take func() error) error {
	before, err := s.runtime(ctx)
	if err != nil {
		return err
	}
	took, err := seconds(take)
	if err != nil {
		return err
	}
	after, err := s.runtime(ctx)
	v.add("taken", float64(n)/took)
	v.add("goroutines", after.goroutines-before.goroutines)
	v.add("heap MB", (after.heap-before.heap)/1e6)
	return err
}

// send submits n messages, over all sessions in turn, without waiting for answers.
func (s *runsServer) send(ctx context.Context, n int) error {
	const senders = 32
	err := spread(senders, s.asked, n, func(i int) error {
		_, err := s.client.Call(ctx, "chat.send", map[string]any{"sessionKey": runsKey(i % runsHomes), "message": fmt.Sprintf("message %d", i),
			"idempotencyKey": fmt.Sprintf("waits-%d", i)})
		return err
	})
	s.asked += n
	return err
}

// drained reports whether every requested run has ended well.
func (s *runsServer) drained(ctx context.Context) func() (bool, error) {
	return func() (bool, error) {
		var counts map[run.State]int64
		err := s.home.view(ctx, func(tx *sql.Tx) (err error) {
			counts, err = runs.Count(ctx, tx)
			return err
		})
		over := counts[run.Queued]+counts[run.Running] == 0
		if err == nil && over && counts[run.OK] != int64(s.asked) {
			err = fmt.Errorf("%d runs were requested, and they ended as %v", s.asked, counts)
		}
		return over, err
	}
}

type runtimeFigures struct {
	goroutines float64
	heap       float64 // live bytes after the newest collection
}

func (s *server) runtime(ctx context.Context) (f runtimeFigures, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/metrics", http.NoBody)
	if err != nil {
		return f, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return f, err
	}
	defer answer.Body.Close()
	found := 0
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		into := map[string]*float64{"go_goroutines": &f.goroutines, "go_gc_heap_live_bytes": &f.heap}[name]
		if into == nil {
			continue
		}
		if *into, err = strconv.ParseFloat(value, 64); err != nil {
			return f, fmt.Errorf("metric %s: %w", name, err)
		}
		found++
	}
	if found != 2 {
		return f, errors.New("the server's metrics lack its goroutines or its heap")
	}
	return f, nil
}
