package slack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
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
	amounts := channeltest.Amounts{Messages: testscale.Of(18, 120), Posts: testscale.Of(12, 80), Kills: testscale.Of(4, 200), Patience: testscale.Patience}
	channeltest.Run(t, amounts, func(t *testing.T, agents []string, now func() time.Time) channeltest.Stage {
		return newStage(t, agents, now)
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

	mu     sync.Mutex
	places int
	blind  []*slacktest.Injected
}

func newStage(t *testing.T, agents []string, now func() time.Time) *stage {
	t.Helper()
	s, err := slacktest.New(slacktest.Options{Now: now, Limits: slacktest.NoLimits(), Retries: []time.Duration{time.Millisecond, 100 * time.Millisecond, 2 * time.Second}})
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
	return d
}

func (d *stage) Name() string { return "slack" }

func (d *stage) Settings() string {
	accounts := map[string]any{}
	for agent, app := range d.apps {
		accounts[agent] = map[string]string{"botToken": app.Token, "appToken": app.AppToken}
	}
	text, err := json.Marshal(map[string]any{"accounts": accounts, "groupPolicy": "open",
		"collaboration": map[string]any{"rateLimit": map[string]int{"threadCreationPerMinute": 1000, "messagePerChannelPerSecond": 1000}}})
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text)
}

func (d *stage) Open(o channel.Options) channel.Channel {
	o.Transport = d.transport
	return slack.New(o)
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
	if agent != "" {
		text = d.apps[agent].Mention() + " " + text
	}
	m, err := d.bora.Post(chatOf(id), text)
	if err != nil {
		d.t.Error(err)
	}
	return id + ":" + m.TS
}

func (d *stage) Posts(id string) (posts []channeltest.Post) {
	for _, m := range d.Messages(chatOf(id)) {
		if agent := d.agents[m.User]; agent != "" {
			posts = append(posts, channeltest.Post{ID: id + ":" + m.TS, Agent: agent, Text: m.Text})
		}
	}
	return posts
}

func (d *stage) Requests() int {
	return len(d.RequestsTo(slacktest.Match{Test: func(r slacktest.Request) bool { return strings.HasPrefix(r.Method, "chat.") }}))
}

func (d *stage) Cut(agent string) { d.apps[agent].Drop() }

func (d *stage) Forget(agent string) { d.apps[agent].Forget() }

func (d *stage) Twice(on bool) {
	for _, app := range d.apps {
		app.SendTwice(map[bool]int{true: 1_000_000}[on])
	}
}

func (d *stage) Trouble(what channeltest.Trouble, after int) {
	effects := map[channeltest.Trouble]slacktest.Effect{channeltest.Refused: slacktest.Unavailable(http.StatusInternalServerError),
		channeltest.Lost: slacktest.LoseAnswer(), channeltest.Limited: slacktest.TooManyRequests(time.Second), channeltest.NeverOut: slacktest.Cut()}
	d.Inject(slacktest.Fault{Match: slacktest.Match{Method: posting}, After: after, Effect: effects[what]})
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
