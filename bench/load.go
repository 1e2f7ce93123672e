package main

import (
	"context"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// load is clients that append until they are stopped.
type load struct {
	stop  context.CancelFunc
	ended chan error

	mu     sync.Mutex
	stored int
	worst  time.Duration
}

func appending(ctx context.Context, db *sqlite.DB) *load {
	running, stop := context.WithCancel(ctx)
	l := &load{stop: stop, ended: make(chan error, 1)}
	seed := uint64(time.Now().UnixNano()) << 8
	go func() {
		l.ended <- together(clients, func(i int) error {
			team := newCorpus(seed+uint64(i), time.Now().UnixMilli())
			for running.Err() == nil {
				start := time.Now()
				if _, err := db.Append(ctx, team.next().append()); err != nil {
					return err
				}
				l.note(time.Since(start))
			}
			return nil
		})
	}()
	return l
}

func (l *load) note(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stored, l.worst = l.stored+1, max(l.worst, took)
}

// appended is what was appended in a while.
type appended struct {
	rate  float64 // events/s
	worst float64 // ms
	took  float64 // s
}

// during counts appends while f runs.
func (l *load) during(f func() error) (c appended, err error) {
	l.mu.Lock()
	before := l.stored
	l.worst = 0
	l.mu.Unlock()
	c.took, err = seconds(f)
	l.mu.Lock()
	defer l.mu.Unlock()
	c.rate, c.worst = float64(l.stored-before)/c.took, milliseconds(l.worst)
	return c, err
}

func (l *load) end() error {
	l.stop()
	return <-l.ended
}
