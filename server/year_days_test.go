//go:build full

package server

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

const (
	hoursOfWork = 2                   // times a day at which people write
	asksAtOnce  = 2 * testscale.Times // sessions in which they do

	wordsInMessages = 100
)

// life is a team that lives through days, in a server that is a process of its own.
type life struct {
	*discordTeam
	server  *goingServer
	url     string // of its gateway
	ahead   time.Duration
	days    int
	asked   int           // matters that people have brought up
	emptied chan struct{} // gets a value when the server has dropped its rows
}

// liveMatter are messages that people write. Each matter has a name of its own: k1, k2, ...
var liveMatter = regexp.MustCompile(`please (work|begin|ask|delegate|discuss|note) (\w+) (k\d+)`)

var liveKinds = [...]string{"work", "work", "work", "begin", "ask", "delegate", "discuss", "note"}

func newLife(t *testing.T) *life {
	t.Helper()
	dir := t.TempDir()
	l := &life{emptied: make(chan struct{}, 1), discordTeam: newDiscordTeam(t, discordSetting{
		answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer { return livingAnswer(&a) },
		config: func(text string) string {
			return strings.NewReplacer("taskContinuation: { enabled: false }", "maxConcurrent: 16",
				"collaboration: {", `collaboration: { loopGuard: { maxCollaboratePerPair: 100000 },
      rateLimit: { threadCreationPerMinute: 100000, messagePerChannelPerSecond: 100000 },`).Replace(text)
		},
	})}
	if err := os.WriteFile(settings.File(dir), []byte(l.text), 0o600); err != nil {
		t.Fatal(err)
	}
	l.server = startByOrders(t, 0, func(*goingServer, string) { l.emptied <- struct{}{} }, envLiveAYear+"="+dir, envDiscordAPI+"="+l.discord.URL())
	l.url = waitFor(t, "the server", l.server.url)
	var bots []string
	for _, b := range l.bots {
		bots = append(bots, b.ID)
	}
	if err := l.discord.WaitConnected(t.Context(), bots...); err != nil {
		t.Fatal(err)
	}
	return l
}

// pass lets time pass.
func (l *life) pass(d time.Duration) {
	l.ahead += d
	l.clock.Forward(d)
	l.server.order(l.ahead)
}

// empty has the server drop all rows that its projections hold.
func (l *life) empty() {
	l.t.Helper()
	_, _ = fmt.Fprintln(l.server.orders, emptyCaches)
	waitFor(l.t, "the server's caches to be empty", l.emptied)
}

// done says how much has happened.
func (l *life) done() string {
	return fmt.Sprintf("%d days, %d matters, %.0f events", l.days, l.asked, l.number("/metrics", `(?m)^openclawd_log_head_seq (\S+)$`))
}

// day lets a day pass. Two of seven are silent.
func (l *life) day() {
	l.t.Helper()
	const hours = 2 * time.Hour
	if l.days++; l.days%7 >= 5 {
		l.pass(24 * time.Hour)
		return
	}
	c, err := client.Dial(l.t.Context(), l.url, client.Options{Token: "secret"})
	if err != nil {
		l.t.Fatal(err)
	}
	leave := l.watches()
	for range hoursOfWork {
		l.work(c)
		l.look(c)
		l.pass(hours)
	}
	l.tidy(c)
	if err := errors.Join(c.Close(), leave()); err != nil {
		l.t.Error(err)
	}
	l.models.Forget()
	l.pass(24*time.Hour - hoursOfWork*hours)
}

// watches follows the Task-Monitor, as a page does.
func (l *life) watches() (leave func() error) {
	l.t.Helper()
	conn, answer, err := websocket.DefaultDialer.DialContext(l.t.Context(), "ws://"+l.server.api+"/ws", nil)
	if err != nil {
		l.t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for err := error(nil); err == nil; {
			_, _, err = conn.ReadMessage()
		}
	}()
	return func() error {
		err := errors.Join(answer.Body.Close(), conn.Close())
		<-read
		return err
	}
}

// work has people write to agents and wait for their answers, and write to one in Discord.
func (l *life) work(c *client.Client) {
	l.t.Helper()
	l.says(l.dev.ID, "%s %s", l.at(l.crew[l.asked%len(l.crew)].id), l.matter())
	var under sync.WaitGroup
	for i := range asksAtOnce {
		params := map[string]any{"message": l.matter(), "sessionKey": l.session(i), "idempotencyKey": fmt.Sprint("year-", l.asked)}
		under.Go(func() {
			if _, err := c.CallFinal(l.t.Context(), "agent", params, nil); err != nil {
				l.t.Errorf("agent %v: %v", params["sessionKey"], err)
			}
		})
	}
	under.Wait()
}

// session is where people write to an agent: for a week each agent has a session of its own beside its main one.
func (l *life) session(agent int) string {
	if l.asked%2 == 0 {
		return fmt.Sprintf("agent:%s:main", l.crew[agent%len(l.crew)].id)
	}
	return fmt.Sprintf("agent:%s:week-%d", l.crew[agent%len(l.crew)].id, l.days/7)
}

// matter is a message about something new.
func (l *life) matter() string {
	l.asked++
	other := l.crew[(l.asked/3)%len(l.crew)].id
	return fmt.Sprintf("please %s %s k%d %s", liveKinds[l.asked%len(liveKinds)], other, l.asked, words(uint64(l.asked), wordsInMessages))
}

// words are so many words, which no other seed has.
func words(seed uint64, n int) string {
	roll := rand.New(rand.NewPCG(seed, 0))
	var text strings.Builder
	for range n {
		fmt.Fprintf(&text, "%s%d ", [...]string{"river", "mountain", "강물", "letter", "window", "구름"}[roll.IntN(6)], roll.IntN(5_000))
	}
	return text.String()
}

// look reads what pages and clients show.
func (l *life) look(c *client.Client) {
	l.t.Helper()
	for _, path := range []string{"/api/work-sessions?limit=50", "/api/events?limit=200", "/api/agents", "/api/tasks?limit=50", "/api/runs?limit=50",
		"/api/status", "/api/problems", "/api/work?limit=20", "/api/health", "/api/a2a/jobs?limit=20", "/api/collaborations?limit=20", "/api/discord/threads?limit=20",
		"/api/continuation", "/metrics", fmt.Sprintf("/api/events/search?q=k%d", l.asked), fmt.Sprintf("/api/agents/%s/tasks", l.crew[l.days%len(l.crew)].id)} {
		l.reads(path)
	}
	l.calls(c, "sessions.list", nil)
}

func (l *life) calls(c *client.Client, method string, params any) {
	l.t.Helper()
	if _, err := c.Call(l.t.Context(), method, params); err != nil {
		l.t.Errorf("%s %v: %v", method, params, err)
	}
}

// tidy ends the day: main sessions are reset, and those of an earlier week are deleted.
func (l *life) tidy(c *client.Client) {
	l.t.Helper()
	agent := l.crew[l.days%len(l.crew)].id
	l.calls(c, "sessions.reset", map[string]any{"key": fmt.Sprintf("agent:%s:main", agent)})
	if week := l.days/7 - 4; week >= 0 && l.days%7 < len(l.crew) {
		l.calls(c, "sessions.delete", map[string]any{"key": fmt.Sprintf("agent:%s:week-%d", l.crew[l.days%7].id, week)})
	}
}

// livingAnswer answers for the models of agents: they do what people ask for, and what they are prompted to continue with.
func livingAnswer(a *a2atest.Asked) a2atest.Answer {
	asks := liveMatter.FindStringSubmatch(a.Message())
	if asks == nil {
		if p := newToldPrompt(a); !a.AfterTool() && strings.Contains(p.text, "task_") {
			return diligently(a)
		}
		return a2atest.Say("so it is")
	}
	kind, other, name := asks[1], asks[2], asks[3]
	use := func(tool string, args map[string]any) a2atest.Answer {
		return a2atest.Use(a2atest.Call{Name: tool, Args: args})
	}
	switch turn := turnOf(a); {
	case turn == 0 && (kind == "work" || kind == "begin"):
		return use("task_start", map[string]any{"description": kind + " on " + name, "simple": true})
	case turn == 1 && kind == "work":
		return use("task_complete", map[string]any{"task_id": mindsTask.FindString(a.Last().Text), "summary": name + " is done"})
	case turn == 0 && kind == "ask" && other != a.Agent:
		return a2atest.Use(a2atest.Send(map[string]any{"agentId": other, "message": "what of " + name + "?", "timeoutSeconds": 0}))
	case turn == 0 && kind == "delegate":
		return use("sessions_spawn", map[string]any{"task": "look at " + name})
	case turn == 0 && kind == "discuss" && other != a.Agent:
		return use("collaborate", map[string]any{"targetAgent": other, "message": "what of " + name + "?", "threadName": "about_" + name})
	}
	return a2atest.Say(fmt.Sprintf("%s has seen to %s: %s", a.Agent, name, words(uint64(a.N), wordsInMessages)))
}

// turnOf is how often the model has called tools since it was told something.
func turnOf(a *a2atest.Asked) (turn int) {
	for _, m := range a.Messages {
		if m.Role == "user" {
			turn = 0
		}
		turn += min(m.Calls, 1)
	}
	return turn
}
