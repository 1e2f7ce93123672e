// Package attachments fetches the files of messages for the agents that answer them: it does the work of coordination/attach. A file is
// requested from the channel's own service, stored beside the log, and copied into the agent's workspace, where its tools can read it.
//
// It guarantees
//   - that a file which the result names is on disk before the result is in the log;
//   - that a file over the limit, or one that the service no longer has, does not hold up the message: the result says why;
//   - that files which were fetched are not given up for one that cannot be had, or for many that take long;
//   - that work which a kill has interrupted is done again, and stores nothing twice.
package attachments

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/attach"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/media"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// DefaultAttempts last over two minutes of an outage.
const DefaultAttempts = 8

// Timeout limits one attempt at all files of a message.
const Timeout = 10 * time.Minute

// fileTime limits one request for a file.
const fileTime = 2 * time.Minute

// DefaultBudget limits the requests of one attempt, after which the agent is told of the files that are missing. Well below Timeout.
const DefaultBudget = 3 * time.Minute

// DefaultCheap is how long an attempt may have taken to be repeated for one file: all of its files are fetched again then.
const DefaultCheap = 30 * time.Second

// Options of New. All are required but Deposit and those with a default.
type Options struct {
	Bots  func(channelName string) channel.Fetcher // nil for an unknown channel
	Store *media.Store
	Limit func(channelName, account string) int64 // bytes of one file, as configured
	// Deposit copies a stored file into an agent's workspace and returns the copy's path there. nil: files are only stored.
	Deposit func(agentID, id, name string, content io.Reader) (path string, err error)
	Logger  *slog.Logger

	// Attempts is how often the files of a message are requested; default: DefaultAttempts. The message waits meanwhile, so the last failure
	// is told to the agent instead of being repeated.
	Attempts int

	Budget time.Duration // default: DefaultBudget
	Cheap  time.Duration // default: DefaultCheap
}

// Service fetches files.
type Service struct{ o Options }

// New returns a Service.
func New(o Options) *Service {
	o.Attempts = cmp.Or(o.Attempts, DefaultAttempts)
	o.Budget, o.Cheap = cmp.Or(o.Budget, DefaultBudget), cmp.Or(o.Cheap, DefaultCheap)
	return &Service{o}
}

// Do fetches the files of an order. It is a worker.Func, whose result is an attach.Result.
func (s *Service) Do(ctx context.Context, item workqueue.Item, what *coordination.WorkScheduled) (json.RawMessage, error) {
	var order attach.Order
	if err := json.Unmarshal(what.Payload, &order); err != nil {
		return nil, nil //nolint:nilerr // redacted: the run that waits is, too
	}
	result := attach.Result{More: order.More}
	budget, stop := context.WithTimeout(ctx, s.o.Budget)
	defer stop()
	cheap, stop := context.WithTimeout(ctx, s.o.Cheap)
	defer stop()
	for i := range order.Files {
		stored, err := s.fetch(budget, &order, &order.Files[i])
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil && item.Attempt < s.o.Attempts && cheap.Err() == nil && budget.Err() == nil {
			return nil, err
		}
		if err != nil {
			s.o.Logger.Warn("a file of a message cannot be fetched; its agent is told", "message", order.MessageID, "file", order.Files[i].Name, "err", err)
			stored.Reason = "the service does not answer"
			if budget.Err() != nil {
				stored.Reason = fmt.Sprintf("the files of this message took longer than %s", s.o.Budget)
			}
		}
		result.Files = append(result.Files, stored)
	}
	return json.Marshal(&result)
}

// fetch stores one file. An error is one that may go away.
func (s *Service) fetch(ctx context.Context, o *attach.Order, f *attach.File) (attach.Stored, error) {
	stored := attach.Stored{Name: f.Name, Type: f.Type, Size: f.Size}
	if f.SHA256 != "" {
		return s.take(o, f, &stored), nil
	}
	limit := s.o.Limit(o.Channel, o.AccountID)
	bots := s.o.Bots(o.Channel)
	switch {
	case f.Ref == "" || bots == nil:
		stored.Reason = "it does not lie with the service"
		return stored, nil
	case f.Size > limit:
		stored.Reason = tooLarge(o.Channel, limit)
		return stored, nil
	}
	ctx, stop := context.WithTimeout(ctx, fileTime)
	defer stop()
	info, err := s.o.Store.Put(limit, func(w io.Writer) error { return bots.Fetch(ctx, o.AccountID, f.Ref, w) })
	if err != nil {
		stored.Reason = reasonOf(err, o.Channel, limit)
		if stored.Reason != "" {
			s.o.Logger.Warn("a file of a message is not fetched; its agent is told", "message", o.MessageID, "file", f.Name, "reason", stored.Reason, "err", err)
			err = nil
		}
		return stored, later(err)
	}
	stored.SHA256, stored.Size = info.SHA256, info.Bytes
	if attach.IsPicture(info.Type) || stored.Type == "" {
		stored.Type = info.Type
	}
	if stored.Name == "" {
		stored.Name = attach.NameOf("", stored.Type)
	}
	stored.Path = s.deposit(o, &stored)
	return stored, nil
}

// take hands over a file that lies beside the log already.
func (s *Service) take(o *attach.Order, f *attach.File, stored *attach.Stored) attach.Stored {
	kept, err := s.o.Store.Get(f.SHA256)
	if err != nil {
		s.o.Logger.Warn("a posted file is not kept any more; the agent is told", "message", o.MessageID, "file", f.Name, "err", err)
		stored.Reason = "it is no longer kept"
		return *stored
	}
	stored.SHA256, stored.Size = f.SHA256, kept.Info.Bytes
	_ = kept.Close() // it was only read
	stored.Path = s.deposit(o, stored)
	return *stored
}

// deposit copies a stored file into the workspace of the agent. Without the copy the agent still gets pictures.
func (s *Service) deposit(o *attach.Order, stored *attach.Stored) string {
	if s.o.Deposit == nil {
		return ""
	}
	f, err := s.o.Store.Get(stored.SHA256)
	if err == nil {
		defer f.Close()
		var path string
		if path, err = s.o.Deposit(o.AgentID, stored.SHA256, stored.Name, f); err == nil {
			return path
		}
	}
	s.o.Logger.Warn("a file of a message cannot be copied into the workspace", "agent", o.AgentID, "file", stored.Name, "err", err)
	return ""
}

func tooLarge(channelName string, limit int64) string {
	return fmt.Sprintf("it is larger than %d MB (channels.%s.mediaMaxMb)", limit>>20, channelName)
}

// reasonOf says why a file cannot be had; "" if that may change.
func reasonOf(err error, channelName string, limit int64) string {
	switch {
	case errors.Is(err, media.ErrTooLarge):
		return tooLarge(channelName, limit)
	case errors.Is(err, media.ErrFull):
		return "the files that openclawd keeps have reached media.maxTotalMb"
	case errors.Is(err, channel.ErrFileTooLarge):
		return "the service gives bots no file of this size"
	case errors.Is(err, channel.ErrForeignFile):
		return "it does not lie with the service"
	}
	refused, is := errors.AsType[*channel.Error](err)
	if !is {
		return ""
	}
	switch refused.Class {
	case collaborate.ClassNotFound:
		return "the service no longer has it"
	case collaborate.ClassForbidden, collaborate.ClassUnauthorized, collaborate.ClassRejected:
		return "the service refuses it to the bot"
	}
	return ""
}

// delayed is a failure after which the service has asked for a pause.
type delayed struct {
	error
	after time.Duration
}

func (d *delayed) RetryAfter() time.Duration { return d.after }
func (d *delayed) Unwrap() error             { return d.error }

func later(err error) error {
	if refused, is := errors.AsType[*channel.Error](err); is && refused.Failure.RetryAfter > 0 {
		return &delayed{err, refused.Failure.RetryAfter}
	}
	return err
}
