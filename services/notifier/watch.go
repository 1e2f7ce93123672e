package notifier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/eventstore"
)

const (
	pageSize = 500              // events read at a time
	maxSleep = 10 * time.Second // longest sleep, since the configuration may change without an event
)

// watch is the state of Run, used by one goroutine only.
type watch struct {
	*Options
	cursors []*cursor

	conf   *config.Config // configuration of roster and bots
	bots   []collaborate.Bot
	roster *coordination.Roster

	after int64 // page is the last page read; sources mostly read the same
	page  []eventstore.Event
}

func newWatch(o *Options) *watch {
	w := &watch{Options: o}
	sources := []source{&reports{w: w}, &webhooks{w}}
	for _, c := range coordination.Channels() {
		sources = append(sources, &approvals{w, c.Name}, &escalations{w, c.Name})
	}
	for _, s := range sources {
		w.cursors = append(w.cursors, &cursor{w: w, source: s, stream: coordination.SinkStream(s.id())})
	}
	return w
}

// round has each source read to the end of the log, and waits for more. A failing source does not affect the others.
func (w *watch) round(ctx context.Context) error {
	head, err := w.Log.Head(ctx)
	if err != nil {
		return err
	}
	w.page = nil
	var failed error
	overtaken := false
	for _, c := range w.cursors {
		err := c.advance(ctx)
		if err == nil {
			continue
		}
		c.loaded = false // the appended work is checked
		conflict, conflicts := errors.AsType[*eventstore.ConflictError](err)
		switch {
		case ctx.Err() != nil || errors.Is(err, eventstore.ErrClosed):
			return err
		case conflicts && conflict.Stream == c.stream: // by another Follower, which has reported it
			overtaken = true
		default:
			failed = errors.Join(failed, fmt.Errorf("%s: %w", c.id(), err))
		}
	}
	if failed != nil || overtaken {
		return failed
	}
	return w.sleep(ctx, head.Seq)
}

func (w *watch) sleep(ctx context.Context, seq int64) error {
	inTime, cancel := context.WithTimeout(ctx, maxSleep)
	defer cancel()
	_, err := w.Log.Wait(inTime, seq+1)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

func (w *watch) read(ctx context.Context, after int64) ([]eventstore.Event, error) {
	if w.page == nil || w.after != after {
		page, err := w.Log.Read(ctx, after, pageSize)
		if err != nil {
			return nil, err
		}
		w.after, w.page = after, page
	}
	return w.page, nil
}

// names are the display names of agents and users.
func (w *watch) names() *coordination.Roster {
	conf := w.Config()
	var bots []collaborate.Bot
	for _, c := range coordination.Channels() {
		bots = append(bots, w.Bots(c.Name)...)
	}
	if conf == w.conf && slices.Equal(bots, w.bots) {
		return w.roster
	}
	w.conf, w.bots, w.roster = conf, bots, conf.Applied().Roster()
	for _, b := range bots {
		if b.Agent != "" && w.roster.Mentions[b.UserID] == "" {
			w.roster.Mentions[b.UserID] = w.roster.Name(b.Agent)
		}
	}
	return w.roster
}

// line returns a text as one line, without mentions and secrets, cut to n characters.
func (w *watch) line(text string, limit int) string {
	return harmless(coordination.Preview(text, w.names(), limit))
}
