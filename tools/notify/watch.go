package notify

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
	pageSize = 500              // events that are read at a time
	maxSleep = 10 * time.Second // how long nobody looks at the configuration, where nothing is appended
)

// watch is the state of Run, which nobody else touches.
type watch struct {
	*Options
	cursors []*cursor

	conf   *config.Config // that roster is of, with bots
	bots   []collaborate.Bot
	roster *coordination.Roster

	after int64 // page is what stands behind it; sources mostly read the same
	page  []eventstore.Event
}

func newWatch(o *Options) *watch {
	w := &watch{Options: o}
	for _, s := range []source{&reports{w: w}, &webhooks{w}, &approvals{w}, &escalations{w}} {
		w.cursors = append(w.cursors, &cursor{w: w, source: s, stream: coordination.SinkStream(s.id())})
	}
	return w
}

// round has each source read to the end of the log, and waits until there is more. A source that cannot harms no other.
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
		c.loaded = false // what was appended is looked up
		conflict, conflicts := errors.AsType[*eventstore.ConflictError](err)
		switch {
		case ctx.Err() != nil || errors.Is(err, eventstore.ErrClosed):
			return err
		case conflicts && conflict.Stream == c.stream: // by another Follower, which has told of it
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

// sleep waits for the next event.
func (w *watch) sleep(ctx context.Context, seq int64) error {
	inTime, cancel := context.WithTimeout(ctx, maxSleep)
	defer cancel()
	_, err := w.Log.Wait(inTime, seq+1)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// read is a page of the log.
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

// names are those of agents, and of users of Discord.
func (w *watch) names() *coordination.Roster {
	conf, bots := w.Config(), w.Bots()
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

// line is a text in one line, without mentions and secrets, cut to so many characters.
func (w *watch) line(text string, limit int) string {
	return harmless(coordination.Preview(text, w.names(), limit))
}
