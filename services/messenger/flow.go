package messenger

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// Then implements runner.RunsOptions.Then: the consequences of the end of a run that a flow waits for.
func (s *Service) Then(tx eventstore.Tx, e *runner.EndedRun) ([]eventstore.StreamAppend, error) {
	if e.Asked == nil || e.Asked.JobID == "" {
		return nil, nil
	}
	f, found, err := flows.Load(tx, e.Asked.JobID)
	if err != nil || !found {
		return nil, err
	}
	before, err := before(tx, f)
	if err != nil {
		return nil, err
	}
	appends, err := s.performLater(tx, f, a2a.Ended(f, &e.Result, before, s.o.Jitter(), e.Now.UnixMilli()), e.Now)
	return causedBy(e.AskedID, appends), err
}

// Wanted implements runner.Options.Wanted: runs of an ended flow do not start, nor resume after a restart; nor do runs that only an
// ended flow needed.
func (s *Service) Wanted(tx eventstore.Tx, asked *coordination.RunQueued) (bool, error) {
	if asked.JobID == "" {
		return true, nil
	}
	kind, outcome, err := flows.End(tx, asked.JobID)
	if err != nil || outcome == "" {
		return true, err
	}
	return a2a.StillWanted(kind, outcome, asked.JobID, run.RootOf(asked.RunID, asked.RetryOf)), nil
}

// performLater performs a step outside of a request. A run that it abandons is stopped once the step is on disk.
func (s *Service) performLater(tx eventstore.Tx, f *a2a.Flow, step a2a.Step, now time.Time) ([]eventstore.StreamAppend, error) {
	if step.Nothing() {
		return nil, nil
	}
	done, err := s.performed(tx, f, step, now)
	if err == nil {
		s.stopLater(f, &done.step)
	}
	return done.appends, err
}

// stopLater stops a run abandoned by its flow, once the flow's end is on disk.
func (s *Service) stopLater(f *a2a.Flow, step *a2a.Step) {
	if step.Over && step.StopRun != "" {
		s.waits.stop(f.JobID, step.StopRun)
	}
}

func before(tx eventstore.Tx, f *a2a.Flow) (text string, err error) {
	if f.Phase != a2a.Turn {
		return "", nil
	}
	if f.Turn > 1 {
		text, _, err = runs.TextOf(tx, f.JobID+".t"+strconv.Itoa(f.Turn-1))
		return text, err
	}
	for attempt := a2a.MaxRetries + 1; attempt > 0; attempt-- { // the last one has answered
		text, found, err := runs.TextOf(tx, firstRun(f.JobID, attempt))
		if found || err != nil {
			return text, err
		}
	}
	return "", nil
}

// firstRun returns the run id of the nth attempt at the first answer, from 1.
func firstRun(jobID string, attempt int) string {
	if attempt == 1 {
		return jobID
	}
	return jobID + run.AttemptSuffix + strconv.Itoa(attempt)
}

func flowOf(tx eventstore.Tx, item workqueue.Item) (*a2a.Flow, error) {
	jobID := strings.TrimPrefix(item.EffectID, work.JobEffect(""))
	f, found, err := flows.Load(tx, jobID)
	if err == nil && !found {
		err = fmt.Errorf("flow %s is queued but has no job event", jobID)
	}
	return f, err
}

// postTime is the timeout of a post.
const postTime = time.Minute

// Begin implements worker.Handler: it advances a flow that is due. Only a flow with a post is leased.
func (s *Service) Begin(tx eventstore.Tx, item workqueue.Item, now time.Time) ([]eventstore.StreamAppend, error) {
	f, err := flowOf(tx, item)
	if err != nil {
		return nil, err
	}
	switch f.Phase {
	case a2a.Posting:
		if !f.Redacted {
			return lease(f, item, now)
		}
	case a2a.Dispatching:
		active, waiting, err := flows.Permits(tx, f.ToAgent)
		if err != nil {
			return nil, err
		}
		if active < s.maxFlows() && !f.Redacted { // the number of permits was raised meanwhile
			return s.handOver(tx, f.ToAgent, active, f, now)
		}
		f.Active, f.Queued = active, waiting
		return s.performLater(tx, f, a2a.Due(f, nil, "", s.o.Jitter(), now.UnixMilli()), now)
	}
	before, err := before(tx, f)
	if err != nil {
		return nil, err
	}
	var r *run.Result
	if f.RunID != "" {
		last, found, err := runs.LoadLast(tx, f.RunID)
		if err != nil {
			return nil, err
		}
		if found {
			r = &last
		}
	}
	step := a2a.Due(f, r, before, s.o.Jitter(), now.UnixMilli())
	if step.Nothing() && f.Phase == a2a.Posting {
		step = a2a.Posted(f, "", now.UnixMilli()) // a redacted flow posts nothing: it ends
	}
	return s.performLater(tx, f, step, now)
}

func lease(f *a2a.Flow, item workqueue.Item, now time.Time) ([]eventstore.StreamAppend, error) {
	at := now.UnixMilli()
	data := coordination.WorkAttempt{Context: f.Context, EffectID: item.EffectID, Attempt: item.Attempt + 1, LeaseUntilMs: at + postTime.Milliseconds()}
	data.EventRole = coordination.RoleObservability
	return eventstore.One(coordination.JobStream(f.JobID),
		eventstore.NewEvent{Type: coordination.TypeWorkLeased, AgentID: f.ToAgent, CorrelationID: f.ConversationID}, data, at)
}

// Do implements worker.Handler: it posts.
func (s *Service) Do(ctx context.Context, item workqueue.Item) error {
	var post *Post
	err := s.whileLeased(ctx, item, func(_ eventstore.Tx, f *a2a.Flow) ([]eventstore.StreamAppend, error) {
		post = &Post{Key: f.JobID + ".post", Agent: f.ToAgent, Channel: f.AnnounceChannel, To: f.AnnounceTo, AccountID: f.AnnounceAccountID,
			ThreadID: f.AnnounceThreadID, Text: f.Post}
		return nil, nil
	})
	if err != nil || post == nil {
		return err
	}
	why := ""
	if err := s.post(ctx, *post); err != nil {
		if ctx.Err() != nil {
			return err // the item is released
		}
		s.o.Logger.Warn("cannot post an announcement", "post", post.Key, "channel", post.Channel, "err", err)
		why = err.Error()
	}
	now := s.o.Now()
	return s.whileLeased(context.WithoutCancel(ctx), item, func(tx eventstore.Tx, f *a2a.Flow) ([]eventstore.StreamAppend, error) {
		return s.performLater(tx, f, a2a.Posted(f, why, now.UnixMilli()), now)
	})
}

// errNoChannel reports a channel that no longer accepts posts.
var errNoChannel = errors.New("the channel is no longer there")

func (s *Service) post(ctx context.Context, p Post) error {
	if s.o.Channels == nil || !s.o.Channels.Reaches(p.Channel) {
		return errNoChannel
	}
	return s.o.Channels.Post(ctx, p)
}

// whileLeased appends a decision about a flow if the post's lease is still held.
func (s *Service) whileLeased(ctx context.Context, item workqueue.Item,
	decided func(eventstore.Tx, *a2a.Flow) ([]eventstore.StreamAppend, error)) error {
	_, err := s.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		is, found, err := workqueue.Load(tx, item.EffectID)
		if err != nil || !found || !is.Holds(&item) {
			return nil, err
		}
		f, err := flowOf(tx, item)
		if err != nil || f.Phase != a2a.Posting {
			return nil, err
		}
		return decided(tx, f)
	})
	return err
}

// Lost implements worker.Handler: a failed post is retried a few times.
func (s *Service) Lost(tx eventstore.Tx, item workqueue.Item, why string, now time.Time) ([]eventstore.StreamAppend, error) {
	f, err := flowOf(tx, item)
	if err != nil {
		return nil, err
	}
	return s.performLater(tx, f, a2a.Posted(f, "broken off: "+why, now.UnixMilli()), now)
}

// Refused implements worker.Refuser: a flow that cannot continue fails.
func (s *Service) Refused(tx eventstore.Tx, item workqueue.Item, why error, now time.Time) ([]eventstore.StreamAppend, error) {
	f, err := flowOf(tx, item)
	if err != nil {
		return nil, err
	}
	s.o.Logger.Error("a flow cannot continue; it fails", "flow", f.JobID, "err", why)
	return s.performLater(tx, f, a2a.Fail(f, "it could not go on; the log of the program says why", now.UnixMilli()), now)
}
