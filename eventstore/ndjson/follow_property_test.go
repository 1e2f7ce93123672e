package ndjson_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
)

// Whatever a producer and those who rotate its log do, and whenever the follower looks, fails, ends or is killed: each complete line is
// stored once, in order, and what was cut off is kept as a rejected line.
//
// Promise: follow-once
func TestFollowStoresEachLineOnceInOrder(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		m := newProducer(t, fmt.Sprintf("%s/%d", base, runs))
		defer m.kill()
		m.Repeat(t)
		m.finish()
	})
}

// producer writes logs, and knows the expected result.
type producer struct {
	*fixture
	now    int64
	store  *moodyStore
	wanted []string
	lines  int
	inFile int    // bytes of the live log
	part   string // what is written of the line under way
	rest   string // what is not
	text   string // the line's text
	copied bool   // the live log was copied and will be truncated
}

func newProducer(t *rapid.T, state string) *producer {
	p := &producer{fixture: fixtureIn(t, state), now: clockMs}
	p.must(os.MkdirAll(state, 0o700))
	p.store = &moodyStore{Model: p.log}
	p.options.Now = func() time.Time { return time.UnixMilli(p.now) }
	p.options.Import.Log = p.store
	p.options.Import.BatchEvents = rapid.IntRange(1, 4).Draw(t, "batch")
	p.follower = ndjson.NewFollower(p.options)
	return p
}

func (p *producer) Repeat(t *rapid.T) {
	t.Repeat(map[string]func(*rapid.T){
		"write":         p.writeSome,
		"write more":    p.writeSome,
		"rotate":        func(*rapid.T) { p.rotateNow() },
		"copy":          func(*rapid.T) { p.copyNow() },
		"truncate":      func(*rapid.T) { p.truncateCopied() },
		"look":          func(*rapid.T) { p.try() },
		"later":         func(*rapid.T) { p.now += 700 },
		"restart":       func(*rapid.T) { p.restart() },
		"kill":          func(*rapid.T) { p.kill() },
		"lose":          func(*rapid.T) { p.lose() },
		"refuse append": func(t *rapid.T) { p.store.refuse(rapid.IntRange(0, 3).Draw(t, "appends"), false) },
		"lose answer":   func(t *rapid.T) { p.store.refuse(rapid.IntRange(0, 3).Draw(t, "appends"), true) },
	})
}

// writeSome writes lines, the last one maybe in part. The first line of a log is one of its kind, as their times make them in life; the
// others may equal each other.
func (p *producer) writeSome(t *rapid.T) {
	if p.copied {
		return
	}
	for range rapid.IntRange(0, 4).Draw(t, "lines") {
		p.begin(t)
		p.write(p.rest)
		p.ended()
	}
	p.begin(t)
	n := rapid.IntRange(0, len(p.rest)-1).Draw(t, "bytes")
	p.write(p.rest[:n])
	p.part, p.rest, p.inFile = p.part+p.rest[:n], p.rest[n:], p.inFile+n
}

func (p *producer) begin(t *rapid.T) {
	if p.rest != "" {
		return
	}
	p.lines++
	p.text = fmt.Sprintf("%d 배포", p.lines)
	if p.inFile > 0 && rapid.Bool().Draw(t, "equal") {
		p.text = "equal"
	}
	p.part, p.rest = "", event(p.text)+"\n"
}

func (p *producer) ended() {
	p.wanted = append(p.wanted, p.text)
	p.inFile += len(p.rest)
	p.part, p.rest = "", ""
}

// cut notes what becomes of the line under way when its log is rotated.
func (p *producer) cut() {
	switch {
	case p.part == "":
	case p.rest == "\n":
		p.wanted = append(p.wanted, p.text)
	default:
		_, rejection := ndjson.ParseLine([]byte(p.part))
		p.wanted = append(p.wanted, fmt.Sprintf("[unfinished %s]", rejection.Text))
	}
	p.part, p.rest, p.inFile = "", "", 0
}

func (p *producer) rotateNow() {
	if p.inFile > 0 && !p.copied {
		p.rotate()
		p.cut()
	}
}

func (p *producer) copyNow() {
	if p.inFile > 0 && !p.copied {
		p.copyLive()
		p.copied = true
	}
}

func (p *producer) truncateCopied() {
	if p.copied {
		p.truncate()
		p.cut()
		p.copied = false
	}
}

// lose is a kill that also loses the positions.
func (p *producer) lose() {
	if p.copied {
		return // without them, the copy of a short log cannot be told from one that was rotated
	}
	p.kill()
	if err := os.Remove(p.options.Positions); !errors.Is(err, os.ErrNotExist) {
		p.must(err)
	}
}

func (p *producer) try() {
	if _, err := p.follower.Poll(context.Background()); err != nil && !errors.Is(err, errMood) {
		p.Fatalf("look: %v", err)
	}
}

// finish ends the last line and compares.
func (p *producer) finish() {
	p.truncateCopied()
	if p.rest == "" {
		p.text, p.rest = "end", event("end")+"\n"
	}
	p.write(p.rest)
	p.ended()
	p.store.refuse(0, false)
	p.look()
	p.want(p.wanted...)
	p.restart()
	if p.look(); p.follower.Status().Behind != 0 {
		p.Errorf("status %+v", p.follower.Status())
	}
	p.want(p.wanted...)
}

var errMood = &eventstore.DiskFullError{Path: "openclawd.db", Err: errors.New("injected")}

// moodyStore refuses appends, or stores them and reports an error.
type moodyStore struct {
	*storetest.Model
	failures int
	stores   bool
	refused  func() // called for each; may be nil
}

func (s *moodyStore) refuse(appends int, stores bool) { s.failures, s.stores = appends, stores }

func (s *moodyStore) Append(ctx context.Context, appends ...eventstore.StreamAppend) (eventstore.Result, error) {
	if s.failures == 0 {
		return s.Model.Append(ctx, appends...)
	}
	s.failures--
	if s.refused != nil {
		s.refused()
	}
	if s.stores {
		if _, err := s.Model.Append(ctx, appends...); err != nil {
			return eventstore.Result{}, err
		}
	}
	return eventstore.Result{}, errMood
}
