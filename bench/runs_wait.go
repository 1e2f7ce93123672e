package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
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
	if err := s.costOf(v, queued, func() error { return s.send(ctx, queued) }); err != nil {
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
func (s *server) costOf(v values, n int, take func() error) error {
	const goroutines, heap = "go_goroutines", "go_gc_heap_live_bytes"
	before, err := s.metrics(goroutines, heap)
	if err != nil {
		return err
	}
	took, err := seconds(take)
	if err != nil {
		return err
	}
	after, err := s.metrics(goroutines, heap)
	if err != nil {
		return err
	}
	v.add("taken", float64(n)/took)
	v.add("goroutines", after[0]-before[0])
	v.add("heap MB", (after[1]-before[1])/1e6)
	return nil
}

// send submits n messages, over all sessions in turn, without waiting for answers.
func (s *runsServer) send(ctx context.Context, n int) error {
	const senders = 32
	err := spread(senders, s.asked, n, func(i int) error { return s.chat(ctx, i%runsHomes, fmt.Sprintf("waits-%d", i)) })
	s.asked += n
	return err
}

// chat sends a message, whose run has this id, and waits until it is taken.
func (s *runsServer) chat(ctx context.Context, session int, id string) error {
	_, err := s.client.Call(ctx, "chat.send", map[string]any{"sessionKey": runsKey(session), "message": "message " + id, "idempotencyKey": id})
	return err
}

// drained reports whether every requested run has ended well.
func (s *runsServer) drained(ctx context.Context) func() (bool, error) {
	return func() (bool, error) {
		var counts map[run.State]int64
		err := s.home.reading(ctx, func(log *sqlite.DB) error {
			return log.View(ctx, func(tx *sql.Tx) (err error) {
				counts, err = runs.Count(ctx, tx)
				return err
			})
		})
		over := counts[run.Queued]+counts[run.Running] == 0
		if err == nil && over && counts[run.OK] != int64(s.asked) {
			err = fmt.Errorf("%d runs were requested, and they ended as %v", s.asked, counts)
		}
		return over, err
	}
}

// metrics returns what GET /metrics says under some names.
func (s *server) metrics(names ...string) (numbers []float64, err error) {
	answer, err := http.Get(s.url + "/metrics")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	for _, name := range names {
		_, rest, found := strings.Cut("\n"+string(text), "\n"+name+" ")
		value, _, _ := strings.Cut(rest, "\n")
		number, bad := strconv.ParseFloat(value, 64)
		if !found || bad != nil {
			return nil, errors.Join(fmt.Errorf("the server's metrics have no number %s", name), err)
		}
		numbers = append(numbers, number)
	}
	return numbers, err
}
