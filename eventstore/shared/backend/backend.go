// Package backend opens the shared log that a URL names, whatever keeps it.
package backend

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/eventstore/shared/jetstream"
	"github.com/pronto-lab/openclawd/eventstore/shared/postgres"
)

// Options of Open. The zero value of a field means its default.
type Options struct {
	Field string // the setting that has the URL, for errors; default cluster.log
	// Relaxed also opens logs whose servers may lose records that they have acknowledged when their power fails.
	Relaxed  bool
	Existing bool // do not create a log that does not exist: the error is eventstore.ErrNotFound
	// Attempt is how long one try to store a record waits for its answer; default 1 s (JetStream) or 2 s (Postgres).
	Attempt time.Duration
}

// Log is an open shared log. Close closes its connections.
type Log struct {
	shared.Log
	Address *Address
	// Doubt says why it is not known that what the log acknowledges survives a power cut; "" if it does, or Relaxed.
	Doubt string
}

// Open connects to a log, and creates it if it does not exist. Errors name the field and the address, without user and
// password: *eventstore.InvalidError for the URL, *shared.RefusedError or *shared.UnsafeError if people must
// change something, *shared.UnavailableError if it may be there later.
func Open(ctx context.Context, url string, o Options) (*Log, error) {
	if o.Field == "" {
		o.Field = "cluster.log"
	}
	address, err := Parse(o.Field, url)
	if err != nil {
		return nil, err
	}
	l := &Log{Address: address}
	if err := l.open(ctx, &o); err != nil {
		return nil, fmt.Errorf("%s %s: %w", o.Field, address, err)
	}
	return l, nil
}

func (l *Log) open(ctx context.Context, o *Options) error {
	synced, err := l.connect(ctx, o)
	if err != nil {
		return err
	}
	if o.Relaxed {
		return nil
	}
	if l.Doubt, err = synced(ctx); err != nil {
		return errors.Join(err, l.Close())
	}
	return nil
}

// connect opens the log, and returns what asks its servers whether they sync.
func (l *Log) connect(ctx context.Context, o *Options) (synced func(context.Context) (string, error), err error) {
	a := l.Address
	if a.Kind == Postgres {
		log, err := postgres.Open(ctx, postgres.Options{URL: a.url, Name: a.Name, Attempt: o.Attempt, Existing: o.Existing})
		if err != nil {
			return nil, err
		}
		l.Log = log
		return log.Synced, nil
	}
	log, err := jetstream.Open(ctx, jetstream.Options{URL: strings.Join(a.servers, ","), Name: a.Name, Replicas: a.replicas, Attempt: o.Attempt, Existing: o.Existing,
		User: a.user, Password: a.password, Credentials: a.options.Get("creds"), CA: a.options.Get("ca"),
		Cert: a.options.Get("cert"), Key: a.options.Get("key")})
	if err != nil {
		return nil, err
	}
	l.Log = log
	return func(ctx context.Context) (string, error) { return log.Synced(ctx, a.monitors()) }, nil
}

// Left implements shared.Leaver.
func (l *Log) Left() shared.Left {
	if says, ok := l.Log.(shared.Leaver); ok {
		left := says.Left()
		left.Place += " (" + l.Address.String() + ")"
		return left
	}
	return shared.Left{}
}
