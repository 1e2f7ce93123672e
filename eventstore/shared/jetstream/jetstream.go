package jetstream

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared"
)

// Options of Open.
type Options struct {
	URL      string        // of one server or several, with commas between them
	Name     string        // of the log; streams are called after it
	Replicas int           // of a log that does not exist yet; default 1
	Connect  []nats.Option // more of the client's options

	Existing       bool   // do not create a log that does not exist
	User, Password string // without a password the user is a token; "" for none
	Credentials    string // file of a user's JWT and key; "" for none
	CA, Cert, Key  string // files for TLS; "" for none

	// Attempt is how long one try to store a record waits for its answer, which may have been lost; default 1 s.
	Attempt time.Duration
	Now     func() time.Time // default time.Now
}

// Log is a shared log in JetStream. It implements shared.Log.
type Log struct {
	opts     Options
	conn     *nats.Conn
	js       jetstream.JetStream
	records  jetstream.Stream
	redacted jetstream.Stream
	leases   jetstream.Stream

	mu      sync.Mutex
	tail    place // where the newest record that this client knows of ends
	renewal renewal
}

// renewal is the newest message of a held lease that was seen, and since when.
type renewal struct {
	sequence uint64
	seen     time.Time
}

// place is the end of a record in the stream.
type place struct {
	number   int64
	sequence uint64
}

var _ shared.Log = (*Log)(nil)

// names are those that a stream and a subject may have.
var names = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Open connects to a log, and creates it if it does not exist.
func Open(ctx context.Context, opts Options) (*Log, error) {
	if !names.MatchString(opts.Name) {
		return nil, &eventstore.InvalidError{Field: "name", Value: opts.Name, HintText: "use 1 to 64 letters, digits, - and _"}
	}
	if opts.Attempt == 0 {
		opts.Attempt = time.Second
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	conn, err := nats.Connect(opts.URL, opts.connection()...)
	if err != nil {
		return nil, refusal(err)
	}
	l := &Log{opts: opts, conn: conn}
	err = checkVersion(conn.ConnectedServerVersion())
	if err == nil {
		err = l.open(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return l, nil
}

// connection returns the options of the client.
func (o *Options) connection() []nats.Option {
	list := []nats.Option{
		nats.Name("openclawd " + o.Name), nats.MaxReconnects(-1), nats.ReconnectWait(50 * time.Millisecond),
		nats.ReconnectBufSize(-1),   // what is sent while disconnected fails at once: it must not arrive later
		nats.IgnoreAuthErrorAbort(), // credentials that were replaced late are no reason to stay away once they are right
	}
	switch {
	case o.User != "" && o.Password != "":
		list = append(list, nats.UserInfo(o.User, o.Password))
	case o.User != "":
		list = append(list, nats.Token(o.User))
	}
	if o.Credentials != "" {
		list = append(list, nats.UserCredentials(o.Credentials))
	}
	if o.CA != "" {
		list = append(list, nats.RootCAs(o.CA))
	}
	if o.Cert != "" {
		list = append(list, nats.ClientCert(o.Cert, o.Key))
	}
	return append(list, o.Connect...)
}

func (l *Log) open(ctx context.Context) (err error) {
	if l.js, err = jetstream.New(l.conn); err != nil {
		return err
	}
	base := jetstream.StreamConfig{Storage: jetstream.FileStorage, Replicas: max(l.opts.Replicas, 1), Discard: jetstream.DiscardNew,
		AllowAtomicPublish: true, DenyPurge: true}
	records, redacted, leases := base, base, base
	records.Name, records.Subjects = l.opts.Name, []string{l.subject()}
	redacted.Name, redacted.Subjects = l.opts.Name+"-redacted", []string{l.replacement("*")}
	leases.Name, leases.Subjects = l.opts.Name+"-lease", []string{l.lease(), l.node("*")}
	leases.MaxMsgsPerSubject, leases.AllowMsgTTL, leases.Discard = 1, true, jetstream.DiscardOld
	for _, s := range []struct {
		stream *jetstream.Stream
		config jetstream.StreamConfig
	}{{&l.records, records}, {&l.redacted, redacted}, {&l.leases, leases}} {
		if *s.stream, err = l.stream(ctx, s.config); err != nil {
			return fmt.Errorf("open stream %s: %w", s.config.Name, refusal(err))
		}
	}
	return nil
}

// stream opens a stream, and creates it if it does not exist.
func (l *Log) stream(ctx context.Context, config jetstream.StreamConfig) (jetstream.Stream, error) {
	for {
		s, err := l.js.Stream(ctx, config.Name)
		if err == nil {
			return s, checkStream(config, s.CachedInfo().Config)
		}
		switch {
		case !errors.Is(err, jetstream.ErrStreamNotFound):
			return nil, err
		case l.opts.Existing:
			return nil, eventstore.ErrNotFound
		}
		s, err = l.js.CreateStream(ctx, config)
		if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another node may have been faster
			return s, err
		}
	}
}

func (l *Log) subject() string                  { return l.opts.Name + ".records" }
func (l *Log) replacement(number string) string { return l.opts.Name + ".redacted." + number }
func (l *Log) lease() string                    { return l.opts.Name + ".lease" }
func (l *Log) node(token string) string         { return l.opts.Name + ".node." + token }

// Close implements shared.Log.
func (l *Log) Close() error {
	l.conn.Close()
	return nil
}

// Head implements shared.Log.
func (l *Log) Head(ctx context.Context) (shared.Head, error) {
	m, err := l.records.GetLastMsgForSubject(ctx, l.subject())
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return shared.Head{}, nil
	}
	if err != nil {
		return shared.Head{}, err
	}
	part, err := parse(m.Header)
	if err != nil {
		return shared.Head{}, err
	}
	l.learn(place{part.Number, m.Sequence})
	return part.Head(), nil
}

// learn remembers the end of the log, if that is news.
func (l *Log) learn(p place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.number > l.tail.number {
		l.tail = p
	}
}

func (l *Log) known() place {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tail
}
