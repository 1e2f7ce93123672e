package slack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/channeltest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/slack"
	"github.com/pronto-lab/openclawd/slack/slacktest"
)

func TestSlackIsAChannel(t *testing.T) {
	t.Parallel()
	amounts := channeltest.Amounts{Messages: testscale.Of(18, 120), Posts: testscale.Of(12, 80), Kills: testscale.Of(4, 40*testscale.Times), Patience: testscale.Patience}
	channeltest.Run(t, amounts, func(t *testing.T, agents []string, now func() time.Time) channeltest.Stage {
		return newStage(t, agents, now, false)
	})
}

// Slack sends events by HTTP instead of over sockets: several at a time, so in any order.
func TestSlackIsAChannelByHTTP(t *testing.T) {
	t.Parallel()
	amounts := channeltest.Amounts{Messages: testscale.Of(12, 60), Posts: testscale.Of(6, 40), Kills: testscale.Of(3, 20*testscale.Times), Patience: testscale.Patience, Unordered: true}
	channeltest.Run(t, amounts, func(t *testing.T, agents []string, now func() time.Time) channeltest.Stage {
		return newStage(t, agents, now, true)
	})
}

// stage is a Slack with the team of the suite.
type stage struct {
	*slacktest.Server
	t         *testing.T
	transport http.RoundTripper
	bora      *slacktest.Person
	apps      map[string]*slacktest.App
	agents    map[string]string // by the bot's user id
	receiver  *httptest.Server  // nil: events come over sockets
	current   atomic.Pointer[slack.Apps]
	connect   sync.Once // of the receiver

	mu     sync.Mutex
	places int
	blind  []*slacktest.Injected
}

func newStage(t *testing.T, agents []string, now func() time.Time, byHTTP bool) *stage {
	t.Helper()
	retries := []time.Duration{time.Millisecond, 100 * time.Millisecond, 2 * time.Second}
	if byHTTP { // there is no connection after which Slack begins again
		retries = append(retries, slices.Repeat([]time.Duration{500 * time.Millisecond}, 100)...)
	}
	s, err := slacktest.New(slacktest.Options{Now: now, Limits: slacktest.NoLimits(), Retries: retries})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	d := &stage{Server: s, t: t, bora: s.AddPerson("bora"), apps: map[string]*slacktest.App{}, agents: map[string]string{}}
	if d.transport, err = slack.Redirect(s.URL()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.transport.(interface{ CloseIdleConnections() }).CloseIdleConnections)
	for _, agent := range agents {
		app := s.AddApp(agent, slacktest.AppOptions{})
		d.apps[agent], d.agents[app.UserID] = app, agent
	}
	if byHTTP {
		d.receiver = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.current.Load().ServeHTTP(w, r) }))
		t.Cleanup(d.receiver.Close)
	}
	return d
}

func (d *stage) Name() string { return "slack" }

func (d *stage) Person() string { return d.bora.ID }

func (d *stage) Settings() string {
	accounts := map[string]any{}
	for agent, app := range d.apps {
		if accounts[agent] = map[string]string{"botToken": app.Token, "appToken": app.AppToken}; d.receiver != nil {
			accounts[agent] = map[string]string{"botToken": app.Token, "mode": "http", "signingSecret": app.SigningSecret, "webhookPath": "/" + agent}
		}
	}
	text, err := json.Marshal(map[string]any{"accounts": accounts, "groupPolicy": "open", "dmPolicy": "open", "allowFrom": []string{"*"},
		"collaboration": map[string]any{"rateLimit": map[string]int{"threadCreationPerMinute": 1000, "messagePerChannelPerSecond": 1000}}})
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text)
}

func (d *stage) Open(o channel.Options) channel.Channel {
	o.Transport = d.transport
	apps := slack.New(o)
	d.current.Store(apps)
	return apps
}

// receives has Slack send events to the receiver. It is called once the apps are connected, which answer the challenge.
func (d *stage) receives() {
	for agent, app := range d.apps {
		if err := app.SetRequestURL(d.t.Context(), d.receiver.URL+"/"+agent); err != nil {
			d.t.Error(err)
		}
	}
}

func (d *stage) Direct(agent string) string {
	return place(d.bora.Conversation(d.apps[agent].UserID).ID)
}

func (d *stage) Place() (guild, id string) {
	d.mu.Lock()
	d.places++
	name := fmt.Sprint("place-", d.places)
	d.mu.Unlock()
	members := []string{d.bora.ID}
	for _, app := range d.apps {
		members = append(members, app.UserID)
	}
	return place(slacktest.TeamID), place(d.AddChannel(name, members...).ID)
}

func chatOf(id string) string { return strings.ToUpper(strings.TrimPrefix(id, "slack:")) }

func (d *stage) Say(id, agent, text string) string {
	if d.receiver != nil {
		d.connect.Do(d.receives)
	}
	if agent != "" {
		text = d.apps[agent].Mention() + " " + text
	}
	m, err := d.bora.Post(chatOf(id), text)
	if err != nil {
		d.t.Error(err)
	}
	return id + ":" + m.TS
}

func (d *stage) Upload(id, agent, text, name string, content []byte) string {
	if d.receiver != nil {
		d.connect.Do(d.receives)
	}
	m, err := d.bora.Upload(chatOf(id), name, d.apps[agent].Mention()+" "+text, content)
	if err != nil {
		d.t.Error(err)
	}
	return id + ":" + m.TS
}

func (d *stage) FileTrouble(what channeltest.Trouble) { d.trouble(what, "download", 0) }

func (d *stage) Posts(id string) (posts []channeltest.Post) {
	for _, m := range d.Messages(chatOf(id)) {
		if agent := d.agents[m.User]; agent != "" {
			post := channeltest.Post{ID: id + ":" + m.TS, Agent: agent, Text: m.Text}
			for _, f := range m.Files {
				post.Text += channeltest.FileText(d.FileOf(f.ID))
			}
			posts = append(posts, post)
		}
	}
	return posts
}

func (d *stage) Requests() int {
	return len(d.RequestsTo(slacktest.Match{Test: func(r slacktest.Request) bool { return strings.HasPrefix(r.Method, "chat.") }}))
}

func (d *stage) Cut(agent string) { d.apps[agent].Drop() }

// Forget changes nothing by HTTP: Slack forgets nothing that it tries again.
func (d *stage) Forget(agent string) {
	if d.receiver == nil {
		d.apps[agent].Forget()
	}
}

func (d *stage) Twice(on bool) {
	for _, app := range d.apps {
		app.SendTwice(map[bool]int{true: 1_000_000}[on])
	}
}

func (d *stage) Trouble(what channeltest.Trouble, after int) {
	d.inject(what, slacktest.Match{Test: func(r slacktest.Request) bool {
		return r.Method == posting || r.Method == "files.completeUploadExternal"
	}}, after)
}

func (d *stage) trouble(what channeltest.Trouble, method string, after int) {
	d.inject(what, slacktest.Match{Method: method}, after)
}

func (d *stage) inject(what channeltest.Trouble, match slacktest.Match, after int) {
	effects := map[channeltest.Trouble]slacktest.Effect{channeltest.Refused: slacktest.Unavailable(http.StatusInternalServerError),
		channeltest.Lost: slacktest.LoseAnswer(), channeltest.Limited: slacktest.TooManyRequests(time.Second), channeltest.NeverOut: slacktest.Cut()}
	d.Inject(slacktest.Fault{Match: match, After: after, Effect: effects[what]})
}

func (d *stage) Blind(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, fault := range d.blind {
		fault.Remove()
	}
	d.blind = nil
	if on {
		for _, method := range []string{"conversations.history", "conversations.replies"} {
			d.blind = append(d.blind, d.Inject(slacktest.Fault{Match: slacktest.Match{Method: method}, Times: -1, Effect: slacktest.Refuse("missing_scope")}))
		}
	}
}
