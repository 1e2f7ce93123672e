package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/coordination/run"
)

// wait lets many messages wait while the model is blocked, measures their cost, and then has them all answered.
func (s *runsServer) wait(ctx context.Context, f *runsFigures) error {
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
	before, err := s.runtime(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := s.send(ctx, s.n.queued); err != nil {
		return err
	}
	f.queue = float64(s.n.queued) / time.Since(start).Seconds()
	after, err := s.runtime(ctx)
	if err != nil {
		return err
	}
	f.goroutines, f.heap = after.goroutines-before.goroutines, (after.heap-before.heap)/1e6
	start = time.Now()
	s.model.release()
	if err := s.drained(ctx); err != nil {
		return err
	}
	f.drain = float64(s.n.queued) / time.Since(start).Seconds()
	return nil
}

// send submits n messages, over all sessions in turn, without waiting for answers.
func (s *runsServer) send(ctx context.Context, n int) error {
	const senders = 32
	from := s.asked
	errs := make([]error, senders)
	var wg sync.WaitGroup
	for sender := range senders {
		wg.Go(func() {
			for i := from + sender; i < from+n && errs[sender] == nil; i += senders {
				_, errs[sender] = s.client.Call(ctx, "chat.send", map[string]any{"sessionKey": runsKey(i % runsHomes), "message": fmt.Sprintf("message %d", i),
					"idempotencyKey": fmt.Sprintf("waits-%d", i)})
			}
		})
	}
	wg.Wait()
	s.asked += n
	return errors.Join(errs...)
}

// drained waits until every requested run has ended well.
func (s *runsServer) drained(ctx context.Context) error {
	const (
		look     = 50 * time.Millisecond
		patience = 5 * time.Minute
	)
	ctx, stop := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not all of %d runs have ended within %s", s.asked, patience))
	defer stop()
	again := time.NewTicker(look)
	defer again.Stop()
	for {
		counts, err := countRuns(ctx, s.db)
		if err != nil {
			return err
		}
		switch open := counts[run.Queued] + counts[run.Running]; {
		case open == 0 && counts[run.OK] == int64(s.asked):
			return nil
		case open == 0:
			return fmt.Errorf("%d runs were requested, and they ended as %v", s.asked, counts)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

type runtimeFigures struct {
	goroutines float64
	heap       float64 // live bytes after the newest collection
}

func (s *runsServer) runtime(ctx context.Context) (f runtimeFigures, err error) {
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
