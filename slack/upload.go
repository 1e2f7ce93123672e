package slack

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Slack shares a file some time after it has answered, so its message is looked for, with pauses that grow.
const (
	shareTime         = time.Minute // after which a file that has no message gets none
	sharedPause       = 500 * time.Millisecond
	longestSharePause = 4 * time.Second
)

// errShared means that the message of a file may still appear.
var errShared = errors.New("the file may have been accepted, and its message may still appear")

// sendFile uploads a file, which only the app sees then, and shares it. The answer does not name the message, so that is looked for.
func (b *Apps) sendFile(ctx context.Context, deed string, own *app, in place, p *channel.Post) (channel.Posted, error) {
	file, err := own.upload(ctx, deed, p)
	if err != nil {
		return channel.Posted{}, err
	}
	files, err := json.Marshal([]uploadShape{{ID: file, Title: p.File.Name}})
	if err != nil {
		return channel.Posted{}, err
	}
	args := url.Values{"channel_id": {in.chat}, "files": {string(files)}}
	if in.thread != "" {
		args.Set("thread_ts", in.thread)
	}
	leave, err := own.turn(ctx, deed, p.ChannelID, lane(in))
	if err != nil {
		return channel.Posted{}, err
	}
	defer leave()
	own.posts.share(file, p.Nonce)
	since := b.o.Now().UnixMilli()
	_, err = own.inTurn(ctx, deed, p.ChannelID, lane(in), "files.completeUploadExternal", args)
	own.posts.completed(in.chat, b.o.Now())
	if err != nil {
		return channel.Posted{}, err
	}
	m, err := own.shared(ctx, deed, &channel.Lookup{ChannelID: p.ChannelID, Since: since}, in, file)
	if err != nil {
		return channel.Posted{}, err
	}
	own.posts.add(in.messageID(m.TS), p.Nonce)
	return channel.Posted{ID: in.messageID(m.TS), ChannelID: p.ChannelID, At: at(m.TS)}, nil
}

type uploadShape struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// upload sends a file to Slack, where only the app sees it, and returns its id. A failure means that nothing was posted.
func (a *app) upload(ctx context.Context, deed string, p *channel.Post) (id string, err error) {
	got, refused := a.ask(ctx, deed, p.ChannelID, "files.getUploadURLExternal",
		url.Values{"filename": {p.File.Name}, "length": {strconv.Itoa(len(p.File.Content))}})
	if refused != nil {
		return "", unposted(refused)
	}
	var to struct {
		URL string `json:"upload_url"`
		ID  string `json:"file_id"`
	}
	if err := json.Unmarshal(got.body, &to); err != nil || to.ID == "" || !mayReceive(to.URL) {
		return "", unposted(unreadable(deed, a.own.ID, p.ChannelID, errAddress))
	}
	limited, cancel := context.WithTimeout(ctx, max(a.apps.o.TimeLimit, channel.FileTime))
	defer cancel()
	got, err = a.wire.upload(limited, to.URL, p.File.Content)
	if err == nil && got.status == http.StatusOK { // in plain text
		return to.ID, nil
	}
	return "", unposted(failed(ctx, deed, a.own.ID, p.ChannelID, got, err))
}

// unposted is the failure of a request that precedes a post, which was not made then.
func unposted(refused *channel.Error) *channel.Error {
	if !passing(refused.Class) {
		return refused
	}
	f := refused.Failure
	if f.Status != http.StatusTooManyRequests {
		f = collaborate.Failure{Unsent: true}
	}
	refused.Failure, refused.Class = f, collaborate.Classify(f)
	return refused
}

// shared waits for the message that shares a file which Slack has accepted. An error is channel.ErrAccepted, or the context's.
func (a *app) shared(ctx context.Context, deed string, l *channel.Lookup, in place, file string) (m messageShape, err error) {
	fail := func(err error) *channel.Error {
		return &channel.Error{Deed: deed, AccountID: a.own.ID, PlaceID: l.ChannelID, Class: collaborate.Classify(collaborate.Failure{}), Err: err}
	}
	pause := sharedPause
	for waited := time.Duration(0); ; waited += pause {
		ts, named := a.posts.messageOf(file)
		if ts != "" {
			return messageShape{TS: ts}, nil
		}
		all, failed := a.all(ctx, deed, l, in) // which is tried again
		for i := range all {
			if files := all[i].Files; len(files) == 1 && files[0].ID == file {
				return all[i], nil
			}
		}
		if waited >= shareTime {
			return m, fail(errors.Join(channel.ErrAccepted, failed))
		}
		if waited > 0 {
			pause = min(2*pause, longestSharePause)
		}
		if refused, is := errors.AsType[*channel.Error](failed); is {
			pause = max(pause, refused.Failure.RetryAfter)
		}
		if err := a.restOr(ctx, pause, named); err != nil {
			return m, fail(err)
		}
	}
}

// restOr waits for something, not longer than a pause; the error is the context's.
func (a *app) restOr(ctx context.Context, pause time.Duration, what <-chan struct{}) error {
	over := make(chan struct{})
	timer := a.apps.o.AfterFunc(pause, func() { close(over) })
	defer timer.Stop()
	select {
	case <-over:
	case <-what:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// unshared is the error of a search that finds no message of a file while it may still appear; nil after that.
func (b *Apps) unshared(deed string, l *channel.Lookup, in place) error {
	own := b.app(l.AccountID)
	if own == nil {
		return channel.NoBot(b.Name(), deed, l.AccountID, l.ChannelID)
	}
	left := own.posts.mayShare(in.chat).Add(shareTime).Sub(b.o.Now())
	if left <= 0 {
		return nil
	}
	return &channel.Error{Deed: deed, AccountID: l.AccountID, PlaceID: l.ChannelID, Class: collaborate.ClassUnavailable,
		Failure: collaborate.Failure{RetryAfter: left}, Err: errShared}
}
