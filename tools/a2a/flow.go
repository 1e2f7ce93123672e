package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
	queue "github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	projection "github.com/pronto-lab/openclawd/projections/a2a"
	projected "github.com/pronto-lab/openclawd/projections/run"
	"github.com/pronto-lab/openclawd/projections/work"
)

// Then is that of runner.Options: what follows from the end of a run that a flow waits for.
func (c *Coordinator) Then(tx eventstore.Tx, e *runner.Ending) ([]eventstore.StreamAppend, error) {
	if e.Asked == nil || e.Asked.JobID == "" {
		return nil, nil
	}
	f, found, err := projection.Load(tx, e.Asked.JobID)
	if err != nil || !found {
		return nil, err
	}
	before, err := before(tx, f)
	if err != nil {
		return nil, err
	}
	appends, err := c.goOn(tx, f, decide.Ended(f, &e.Result, before, c.o.Jitter(), e.Now.UnixMilli()), e.Now)
	return causedBy(e.AskedID, appends), err
}

// Wanted is that of runner.Options. What a flow that somebody has ended has asked for is not begun, nor taken up again after a restart; nor is
// what was only for a flow that is over without it.
func (c *Coordinator) Wanted(tx eventstore.Tx, asked *coordination.RunQueued) (bool, error) {
	if asked.JobID == "" {
		return true, nil
	}
	kind, outcome, err := projection.End(tx, asked.JobID)
	if err != nil || outcome == "" {
		return true, err
	}
	return decide.StillWanted(kind, outcome, asked.JobID, run.RootOf(asked.RunID, asked.RetryOf)), nil
}

// goOn performs a step that nobody has asked for. A run that it leaves behind is stopped once it is on disk.
func (c *Coordinator) goOn(tx eventstore.Tx, f *decide.Flow, s decide.Step, now time.Time) ([]eventstore.StreamAppend, error) {
	if s.Nothing() {
		return nil, nil
	}
	done, err := c.performed(tx, f, s, now)
	if err == nil {
		c.stopLater(f, &done.step)
	}
	return done.appends, err
}

// stopLater has the run stopped that a flow leaves behind, once its end is on disk.
func (c *Coordinator) stopLater(f *decide.Flow, s *decide.Step) {
	if s.Over && s.StopRun != "" {
		c.waits.stop(f.JobID, s.StopRun)
	}
}

// before is the whole text of the answer before the turn that a flow is in.
func before(tx eventstore.Tx, f *decide.Flow) (text string, err error) {
	if f.Phase != decide.Turn {
		return "", nil
	}
	if f.Turn > 1 {
		text, _, err = projected.TextOf(tx, f.JobID+".t"+strconv.Itoa(f.Turn-1))
		return text, err
	}
	for attempt := decide.MaxRetries + 1; attempt > 0; attempt-- { // the last that there was has answered
		text, found, err := projected.TextOf(tx, firstRun(f.JobID, attempt))
		if found || err != nil {
			return text, err
		}
	}
	return "", nil
}

// firstRun is the run of an attempt at the first answer, from 1.
func firstRun(jobID string, attempt int) string {
	if attempt == 1 {
		return jobID
	}
	return jobID + run.AttemptSuffix + strconv.Itoa(attempt)
}

// flowOf is the flow that an item of the queue is about.
func flowOf(tx eventstore.Tx, item work.Item) (*decide.Flow, error) {
	jobID := strings.TrimPrefix(item.EffectID, queue.JobEffect(""))
	f, found, err := projection.Load(tx, jobID)
	if err == nil && !found {
		err = fmt.Errorf("flow %s waits, but nobody has asked for it", jobID)
	}
	return f, err
}

// postTime is how long an attempt at posting may take.
const postTime = time.Minute

// Begin is that of worker.Handler: it looks after a flow whose time has come. Only a flow that has something to post is leased.
func (c *Coordinator) Begin(tx eventstore.Tx, item work.Item, now time.Time) ([]eventstore.StreamAppend, error) {
	f, err := flowOf(tx, item)
	if err != nil {
		return nil, err
	}
	switch f.Phase {
	case decide.Posting:
		if !f.Redacted {
			return lease(f, item, now)
		}
	case decide.Dispatching:
		active, waiting, err := projection.Permits(tx, f.ToAgent)
		if err != nil {
			return nil, err
		}
		if active < c.maxFlows() && !f.Redacted { // there are more permits by now than there were
			return c.handOver(tx, f.ToAgent, active, f, now)
		}
		f.Active, f.Queued = active, waiting
		return c.goOn(tx, f, decide.Due(f, nil, "", c.o.Jitter(), now.UnixMilli()), now)
	}
	before, err := before(tx, f)
	if err != nil {
		return nil, err
	}
	var r *run.Result
	if f.RunID != "" {
		last, found, err := projected.LoadLast(tx, f.RunID)
		if err != nil {
			return nil, err
		}
		if found {
			r = &last
		}
	}
	s := decide.Due(f, r, before, c.o.Jitter(), now.UnixMilli())
	if s.Nothing() && f.Phase == decide.Posting {
		s = decide.Posted(f, "", now.UnixMilli()) // of one that was redacted nothing is posted: it ends
	}
	return c.goOn(tx, f, s, now)
}

// lease takes a flow that has something to post.
func lease(f *decide.Flow, item work.Item, now time.Time) ([]eventstore.StreamAppend, error) {
	at := now.UnixMilli()
	data := coordination.WorkAttempt{Context: f.Context, EffectID: item.EffectID, Attempt: item.Attempt + 1, LeaseUntilMs: at + postTime.Milliseconds()}
	data.EventRole = coordination.RoleObservability
	text, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", coordination.TypeWorkLeased, err)
	}
	return []eventstore.StreamAppend{{Stream: coordination.JobStream(f.JobID), Events: []eventstore.NewEvent{eventstore.NewEvent{
		Type: coordination.TypeWorkLeased, AgentID: f.ToAgent, CorrelationID: f.ConversationID, Data: text}.WithTS(at)}}}, nil
}

// Do is that of worker.Handler: it posts.
func (c *Coordinator) Do(ctx context.Context, item work.Item) error {
	var post *Post
	err := c.whileLeased(ctx, item, func(_ eventstore.Tx, f *decide.Flow) ([]eventstore.StreamAppend, error) {
		post = &Post{Key: f.JobID + ".post", Agent: f.ToAgent, Channel: f.AnnounceChannel, To: f.AnnounceTo, AccountID: f.AnnounceAccountID,
			ThreadID: f.AnnounceThreadID, Text: f.Post}
		return nil, nil
	})
	if err != nil || post == nil {
		return err
	}
	why := ""
	if err := c.post(ctx, *post); err != nil {
		if ctx.Err() != nil {
			return err // it is given back
		}
		c.o.Logger.Warn("what was to be announced was not posted", "post", post.Key, "channel", post.Channel, "err", err)
		why = err.Error()
	}
	now := c.o.Now()
	return c.whileLeased(context.WithoutCancel(ctx), item, func(tx eventstore.Tx, f *decide.Flow) ([]eventstore.StreamAppend, error) {
		return c.goOn(tx, f, decide.Posted(f, why, now.UnixMilli()), now)
	})
}

// errNoChannel is that there is nowhere to post.
var errNoChannel = errors.New("the channel is not there any more")

func (c *Coordinator) post(ctx context.Context, p Post) error {
	if c.o.Channels == nil || !c.o.Channels.Reaches(p.Channel) {
		return errNoChannel
	}
	return c.o.Channels.Post(ctx, p)
}

// whileLeased appends what is decided about a flow, as long as the attempt at posting that has begun is not taken away.
func (c *Coordinator) whileLeased(ctx context.Context, item work.Item,
	decided func(eventstore.Tx, *decide.Flow) ([]eventstore.StreamAppend, error)) error {
	_, err := c.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		is, found, err := work.Load(tx, item.EffectID)
		if err != nil || !found || !is.Holds(&item) {
			return nil, err
		}
		f, err := flowOf(tx, item)
		if err != nil || f.Phase != decide.Posting {
			return nil, err
		}
		return decided(tx, f)
	})
	return err
}

// Lost is that of worker.Handler: what could not be posted is tried again, a few times.
func (c *Coordinator) Lost(tx eventstore.Tx, item work.Item, why string, now time.Time) ([]eventstore.StreamAppend, error) {
	f, err := flowOf(tx, item)
	if err != nil {
		return nil, err
	}
	return c.goOn(tx, f, decide.Posted(f, "broken off: "+why, now.UnixMilli()), now)
}

// Refused is that of worker.Refuser: a flow that cannot go on fails.
func (c *Coordinator) Refused(tx eventstore.Tx, item work.Item, why error, now time.Time) ([]eventstore.StreamAppend, error) {
	f, err := flowOf(tx, item)
	if err != nil {
		return nil, err
	}
	c.o.Logger.Error("a flow is given up", "flow", f.JobID, "err", why)
	return c.goOn(tx, f, decide.Fail(f, "it could not go on; the log of the program says why", now.UnixMilli()), now)
}
