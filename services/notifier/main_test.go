package notifier_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/permissions"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/services/notifier"
)

func TestMain(m *testing.M) {
	testscale.Checks(3, 20)
	goleak.VerifyTestMain(m)
}

// patience bounds every wait for something that has to happen.
const patience = testscale.Patience

const (
	reportChannel = "300000000000000001"
	peopleChannel = "300000000000000002"
	ediBot        = "100000000000000001"
	seumBot       = "100000000000000002"
	jimin         = "200000000000000001"
)

// Parts of configurations: they make one, joined.
const (
	sink = `gateway: {conversationSinks: [{id: 'discord-conversation', enabled: true, options: {guildId: '400000000000000001',
		defaultChannelId: '` + reportChannel + `', routerAccountId: 'seum', notifyUserIds: ['` + jimin + `', '` + ediBot + `']}}]}`
	accounts = `accounts: {eden: {token: 'token-eden', botUserId: '` + ediBot + `'}, seum: {token: 'token-seum', botUserId: '` + seumBot + `'}}`
	bots     = `channels: {discord: {enabled: true, ` + accounts + `}}`
	people   = `channels: {discord: {enabled: true, ` + accounts + `,
		collaboration: {language: 'en', escalation: {channelId: '` + peopleChannel + `', mentionUserId: '` + jimin + `'}}}}`
)

func definitions() []projections.Definition {
	return []projections.Definition{conversations.Routes(coordination.RulesV2), workqueue.Definition(), tasks.Definition(), plans.Definition(), routing.Definition(),
		responses.Definition(), permissions.Definition()}
}

var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}, definitions()...))

// fixture is a log with a Follower.
type fixture struct {
	t      testing.TB
	path   string
	db     *sqlite.DB
	config atomic.Pointer[config.Config]
	bots   func(channel string) []collaborate.Bot
	logged lockedBuffer
	ahead  atomic.Int64 // how far the clock of the log is ahead, as a time.Duration
	stop   func()
}

func setup(t testing.TB, settings string) *fixture {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.db")
	storetest.Copy(t, emptyLog, path)
	bots := map[string][]collaborate.Bot{coordination.Discord: {{AccountID: "eden", UserID: ediBot, Agent: "eden"}}}
	d := &fixture{t: t, path: path, stop: func() {}, bots: func(channel string) []collaborate.Bot { return bots[channel] }}
	d.configure(settings)
	d.open()
	t.Cleanup(d.close)
	return d
}

func (d *fixture) open() {
	d.t.Helper()
	db, err := sqlite.Open(context.Background(), sqlite.Options{Path: d.path, Durability: sqlite.DurabilityRelaxed, Now: d.now})
	if err != nil {
		d.t.Fatal(err)
	}
	d.db = db
	if _, err := projections.Start(context.Background(), db, definitions(), projections.Options{Rules: coordination.RulesV2}); err != nil {
		d.t.Fatal(err)
	}
}

func (d *fixture) close() {
	d.stop()
	if err := d.db.Close(); err != nil && !errors.Is(err, eventstore.ErrClosed) {
		d.t.Error(err)
	}
}

// configure puts a configuration in force.
func (d *fixture) configure(settings string) {
	d.t.Helper()
	dir, err := os.MkdirTemp(d.t.TempDir(), "")
	if err != nil {
		d.t.Fatal(err)
	}
	path := filepath.Join(dir, "openclaw.json")
	text := `{agents: {list: [{id: 'eden', name: '이든', default: true}, {id: 'seum', name: '세움'}]}`
	if settings != "" {
		text += ", " + settings
	}
	if err := os.WriteFile(path, []byte(text+"}"), 0o600); err != nil {
		d.t.Fatal(err)
	}
	c, findings := config.Load(path, func(string) string { return "" })
	if err := findings.Err(); err != nil {
		d.t.Fatal(err)
	}
	d.config.Store(c)
}

// follower is the Follower of the fixture.
func (d *fixture) follower() *notifier.Follower {
	return notifier.New(notifier.Options{Log: d.db, Config: d.config.Load, Now: d.now,
		Bots: d.bots,
		Buttons: func(_, id string, mayApprove bool) []byte {
			if !mayApprove {
				return []byte(`[{"type":1,"components":[{"custom_id":"reject:` + id + `"}]}]`)
			}
			return []byte(`[{"type":1,"components":[{"custom_id":"approve:` + id + `"}]}]`)
		},
		Logger: slog.New(slog.NewTextHandler(&d.logged, nil))})
}

func (d *fixture) now() time.Time { return time.Now().Add(time.Duration(d.ahead.Load())) }

// follow starts following the log. It returns when n sources have their position, so nothing is appended before.
func (d *fixture) follow(n int) {
	d.t.Helper()
	d.run(d.follower())
	if n > 0 {
		d.until("the sources begin", func() bool { return len(d.events("sink.")) >= n })
	}
}

func (d *fixture) run(f *notifier.Follower) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	before := d.stop
	d.stop = sync.OnceFunc(func() {
		before()
		cancel()
		if err := <-done; err != nil && !errors.Is(err, eventstore.ErrClosed) {
			d.t.Errorf("follower: %v", err)
		}
	})
}

// restart ends the process, and begins another one, which follows if it is told to.
func (d *fixture) restart() {
	d.t.Helper()
	d.close()
	d.stop = func() {}
	d.open()
}

// append appends an event of ours, and gives its seq.
func (d *fixture) append(stream, typ, agent string, data any) int64 {
	d.t.Helper()
	return d.appendAs(eventstore.ActorSystem, stream, typ, agent, data)
}

func (d *fixture) appendAs(actor eventstore.Actor, stream, typ, agent string, data any) int64 {
	d.t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		d.t.Fatal(err)
	}
	result, err := d.db.Append(context.Background(), eventstore.StreamAppend{Stream: stream,
		Events: []eventstore.NewEvent{{Type: typ, AgentID: agent, Actor: actor, Data: text}}})
	if err != nil {
		d.t.Fatalf("append %s: %v", typ, err)
	}
	return result.Events[0].Seq
}

// say has eden send seum a message in a conversation.
func (d *fixture) say(conversation, message string) int64 {
	d.t.Helper()
	return d.append("conversation/"+conversation, coordination.TypeA2ASend, "eden", sends(conversation, message))
}

func sends(conversation, message string) coordination.A2ASend {
	return coordination.A2ASend{Context: coordination.Context{ConversationID: conversation, WorkSessionID: "ws_1", EventRole: coordination.RoleConversation},
		FromAgent: "eden", ToAgent: "seum", Message: message}
}

// events are those of a family, such as sink., in order.
func (d *fixture) events(family string) (list []eventstore.Event) {
	d.t.Helper()
	all, err := d.db.Read(context.Background(), 0, 100_000)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range all {
		if strings.HasPrefix(e.Type, family) {
			list = append(list, e)
		}
	}
	return list
}

// scheduled is work that was asked for.
type scheduled struct {
	coordination.WorkScheduled
	delivery delivery.Delivery
}

// work is all that was asked for whose effect begins so, in order.
func (d *fixture) work(prefix string) (list []scheduled) {
	d.t.Helper()
	for _, e := range d.events(coordination.TypeWorkScheduled) {
		var s scheduled
		if err := json.Unmarshal(e.Data, &s.WorkScheduled); err != nil {
			d.t.Fatal(err)
		}
		if c, is := coordination.ChannelNamed(s.Kind); is && c.Name == s.Kind {
			if err := json.Unmarshal(s.Payload, &s.delivery); err != nil {
				d.t.Fatal(err)
			}
		}
		if strings.HasPrefix(s.EffectID, prefix) {
			list = append(list, s)
		}
	}
	return list
}

// asked waits until so many things were asked for whose effect begins so.
func (d *fixture) asked(prefix string, n int) []scheduled {
	d.t.Helper()
	d.until(fmt.Sprintf("%d of %s are asked for", n, prefix), func() bool { return len(d.work(prefix)) >= n })
	list := d.work(prefix)
	if len(list) != n {
		var effects []string
		for _, s := range list {
			effects = append(effects, s.EffectID)
		}
		d.t.Fatalf("%q are asked for, want %d of %s", effects, n, prefix)
	}
	return list
}

// until waits until something is so in the log.
func (d *fixture) until(what string, is func() bool) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		head, err := d.db.Head(ctx)
		if err != nil {
			d.t.Fatal(err)
		}
		if is() {
			return
		}
		if _, err := d.db.Wait(ctx, head.Seq+1); err != nil {
			d.t.Fatalf("waiting until %s: %v\n%s", what, err, d.logged.String())
		}
	}
}

// posted has a delivery done, as if it had been posted: its thread is opened, if it opens one.
func (d *fixture) posted(s *scheduled) (thread string) {
	d.t.Helper()
	stream := coordination.WorkStream(s.EffectID)
	if o := s.delivery.Open; o != nil {
		thread = strconv.FormatInt(500_000_000_000_000_000+int64(len(d.events("thread.created"))), 10)
		d.append(stream, coordination.TypeThreadCreated, "", coordination.Thread{ThreadID: thread, ChannelID: s.delivery.ChannelID, Name: o.Name, Kind: o.Kind,
			ReportOf: s.delivery.ReportOf, EffectID: s.EffectID})
	}
	d.append(stream, coordination.TypeWorkCompleted, "", coordination.WorkAttempt{EffectID: s.EffectID})
	return thread
}

// lost has a delivery given up.
func (d *fixture) lost(s *scheduled, failed coordination.DiscordOutbound) {
	d.t.Helper()
	failed.EffectID, failed.ChannelID, failed.ThreadID = s.EffectID, s.delivery.ChannelID, s.delivery.ThreadID
	d.append(coordination.WorkStream(s.EffectID), coordination.TypeDiscordSendFailed, "", failed)
	d.append(coordination.WorkStream(s.EffectID), coordination.TypeWorkDead, "", coordination.WorkAttempt{EffectID: s.EffectID, Error: "e"})
}

// lockedBuffer is what was logged.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func read[D any](t *testing.T, e eventstore.Event) (data D) {
	t.Helper()
	if err := json.Unmarshal(e.Data, &data); err != nil {
		t.Fatalf("%s: %v", e.Type, err)
	}
	return data
}
