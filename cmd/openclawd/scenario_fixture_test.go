//go:build full

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// scenarioConfig has four agents with a bot each, who may ask each other and start sub-agents. The first one is the default.
const scenarioConfig = `{
  gateway: { auth: { mode: "token", token: "secret" }, tools: { allow: ["sessions_send", "sessions_spawn", "task_approve"] } },
  agents: { list: [%s], defaults: { taskContinuation: { enabled: false } } },
  tools: { agentToAgent: { enabled: true } },
  bindings: [%s],
  channels: { discord: { enabled: true, accounts: { %s }, collaboration: { defaultChannel: %q, escalation: { mentionUserId: %q } } } },
  models: { providers: { test: { baseUrl: %q, apiKey: "none", models: [%s] } } },
}
`

// scenarioCast are the agents as people call them.
var scenarioCast = []struct{ id, name string }{{"ruda", "루다"}, {"eden", "이든"}, {"seum", "세움"}, {"dajim", "다짐"}}

// scenarioAnswer is what an agent's model answers.
type scenarioAnswer func(*scenario, a2atest.Asked) a2atest.Answer

// scenario is openclawd serve as a process of its own, with a Discord, a person in it, and a server of models for which the test answers.
type scenario struct {
	t       *testing.T
	server  team // its directory, its process, the URL of its gateway
	api     string
	models  *a2atest.Model
	discord *discordtest.Server
	dev     discordtest.Channel
	person  *discordtest.Human
	bots    map[string]*discordtest.Bot
	client  *client.Client
	asked   int
}

// playScenario starts one. The answer is given by all models; change is made to the configuration before it is written.
func playScenario(t *testing.T, answer scenarioAnswer, change func(string) string) *scenario {
	t.Helper()
	s := &scenario{t: t, bots: map[string]*discordtest.Bot{}, server: team{dir: t.TempDir()}}
	var err error
	if s.discord, err = discordtest.New(discordtest.Options{Now: time.Now, Limits: discordtest.NoLimits()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.discord.Close() })
	s.models = a2atest.NewModel(t, func(a a2atest.Asked) a2atest.Answer { return answer(s, a) })
	guild := s.discord.AddGuild("pronto")
	s.person, s.dev = s.discord.AddHuman("병욱"), guild.AddChannel("dev", discordtest.ChannelOptions{})
	guild.Join(s.person.ID)
	var agents, bindings, accounts, models []string
	for _, a := range scenarioCast {
		bot := s.discord.AddBot(a.name, discordtest.BotOptions{})
		guild.Join(bot.ID)
		s.bots[a.id] = bot
		agents = append(agents, fmt.Sprintf(`{ id: %q, name: %q, model: "test/%s", subagents: { allowAgents: ["*"] } }`, a.id, a.name, a.id))
		bindings = append(bindings, fmt.Sprintf(`{ agentId: %q, match: { channel: "discord", accountId: %q } }`, a.id, a.id))
		accounts = append(accounts, fmt.Sprintf(`%s: { token: %q }`, a.id, bot.Token))
		models = append(models, fmt.Sprintf(`{ id: %q }`, a.id))
	}
	all := func(list []string) string { return strings.Join(list, ", ") }
	text := fmt.Sprintf(scenarioConfig, all(agents), all(bindings), all(accounts), s.dev.ID, s.person.ID, s.models.URL, all(models))
	if change != nil {
		text = change(text)
	}
	if err := os.WriteFile(settings.File(s.server.dir), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.serve()
	t.Cleanup(func() { s.end(os.Kill) })
	return s
}

// serve starts the process, and returns when its bots are connected.
func (s *scenario) serve() {
	s.t.Helper()
	s.server.server = program(s.t, "serve", "--state-dir", s.server.dir, "--api", "127.0.0.1:0", "--gateway", "127.0.0.1:0", "--discord-api", s.discord.URL())
	s.server.output = &bytes.Buffer{}
	s.server.server.Stderr = s.server.output
	out, err := s.server.server.StdoutPipe()
	if err == nil {
		err = s.server.server.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.api, s.server.gateway = "", ""
	for lines := bufio.NewScanner(out); s.server.gateway == "" && lines.Scan(); {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			s.api = url
		}
		if url, ok := strings.CutPrefix(lines.Text(), "gateway on "); ok {
			s.server.gateway = url
		}
	}
	if s.server.gateway == "" {
		s.t.Fatalf("serve ended: %v\n%s", s.server.server.Wait(), s.server.output)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	ctx, cancel := context.WithTimeout(s.t.Context(), a2atest.Patience)
	defer cancel()
	var bots []string
	for _, b := range s.bots {
		bots = append(bots, b.ID)
	}
	if err := s.discord.WaitConnected(ctx, bots...); err != nil {
		s.t.Fatalf("the bots are not connected: %v\n%s", err, s.server.output)
	}
	s.until("the program sees its bots", func() bool {
		var answer struct{ Bots []struct{ State string } }
		s.get("/api/discord/bots", &answer)
		ready := 0
		for _, b := range answer.Bots {
			if b.State == "ready" {
				ready++
			}
		}
		return ready == len(s.bots)
	})
	if s.client, err = client.Dial(ctx, s.server.gateway, client.Options{Token: "secret"}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scenario) end(signal os.Signal) {
	if s.client != nil {
		_ = s.client.Close()
		s.client = nil
	}
	s.server.end(signal)
}

// again ends the process in a way, and starts another one on what it has left.
func (s *scenario) again(signal os.Signal) {
	s.t.Helper()
	s.end(signal)
	s.serve()
}

// status asks the API and returns the status and the body.
func (s *scenario) status(method, path, body string) (code int, text string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.api+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatalf("%s %s: %v\n%s", method, path, err, s.server.output)
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(said)
}

// get reads an answer of the API, which must be a good one.
func (s *scenario) get(path string, into any) {
	s.t.Helper()
	code, text := s.status(http.MethodGet, path, "")
	if code != http.StatusOK {
		s.t.Fatalf("GET %s: %d %s", path, code, text)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		s.t.Fatalf("GET %s: %v in %s", path, err, text)
	}
}

// until asks again and again until it is so.
func (s *scenario) until(what string, is func() bool) {
	s.t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for late := time.Now().Add(a2atest.Patience); !is(); <-look.C {
		if time.Now().After(late) {
			s.t.Fatalf("it is not so that %s\n%s\n%s", what, s.story(), s.server.output)
		}
	}
}

// story is what is in the log, for a reader of the reason why a test has failed.
func (s *scenario) story() string {
	var b strings.Builder
	for _, e := range s.events() {
		fmt.Fprintf(&b, "%d %s %s %.400s\n", e.Seq, e.Type, e.AgentID, e.Data)
	}
	return b.String()
}

// scenarioEvent is an event as the API tells it.
type scenarioEvent struct {
	Seq     int64
	Type    string
	AgentID string
	Data    json.RawMessage
}

func (e *scenarioEvent) text(field string) string {
	var all map[string]any
	_ = json.Unmarshal(e.Data, &all) // what is no object has no fields
	text, _ := all[field].(string)
	return text
}

// events are those of some types, or all of the log, in its order.
func (s *scenario) events(types ...string) (list []scenarioEvent) {
	s.t.Helper()
	var page struct{ Events []scenarioEvent }
	s.get("/api/events?scope=all&limit=1000", &page)
	for _, e := range page.Events {
		if len(types) == 0 || slices.Contains(types, e.Type) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b scenarioEvent) int { return int(a.Seq - b.Seq) })
	return list
}

// quiet waits until every message of Discord is decided about, and no run and no work is left to do now.
func (s *scenario) quiet() {
	s.t.Helper()
	var before int64 = -1
	s.until("all is quiet", func() bool {
		var work struct {
			Items []struct {
				State string
				DueAt int64
			}
		}
		s.get("/api/work?limit=500", &work)
		for _, i := range work.Items {
			if i.State == "leased" || i.State == "waiting" && i.DueAt <= time.Now().UnixMilli() {
				before = -1
				return false
			}
		}
		decided := map[string]bool{}
		events := s.events()
		for _, e := range events {
			if id := e.text("messageId"); id != "" {
				decided[id] = true
			}
		}
		for _, m := range s.written() {
			if !decided[m.ID] {
				return false
			}
		}
		last := int64(0)
		if len(events) > 0 {
			last = events[len(events)-1].Seq
		}
		same := last == before
		before = last
		return same
	})
}

// written is what people and bots have written in the channel and its threads.
func (s *scenario) written() (list []discordtest.Message) {
	places := []string{s.dev.ID}
	for _, t := range s.discord.Threads(s.dev.ID) {
		places = append(places, t.ID)
	}
	for _, p := range places {
		for _, m := range s.discord.Messages(p) {
			if m.Type == discordtest.PlainMessage || m.Type == discordtest.ReplyMessage {
				list = append(list, m)
			}
		}
	}
	return list
}

// at is the mention of an agent's bot.
func (s *scenario) at(agent string) string { return s.bots[agent].Mention() }

// says has the person write in a place.
func (s *scenario) says(place, text string) discordtest.Message {
	s.t.Helper()
	m, err := s.person.Post(place, text)
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

// tells has a person write to an agent's main session by the gateway, as webchat does, and gives what the agent answers.
func (s *scenario) tells(agent, text string) string {
	s.t.Helper()
	s.asked++
	payload, err := s.client.CallFinal(s.t.Context(), "agent",
		map[string]string{"message": text, "idempotencyKey": fmt.Sprintf("scenario-%d", s.asked), "agentId": agent}, nil)
	if err != nil {
		s.t.Fatalf("%s is told %q: %v\n%s", agent, text, err, s.server.output)
	}
	var answer struct {
		Result struct{ Payloads []struct{ Text string } }
	}
	if err := json.Unmarshal(payload, &answer); err != nil {
		s.t.Fatal(err)
	}
	if len(answer.Result.Payloads) == 0 {
		return ""
	}
	return answer.Result.Payloads[0].Text
}

// uses has an agent call a tool over the gateway, and returns its answer.
func (s *scenario) uses(agent, tool string, args map[string]any) (said map[string]any) {
	s.t.Helper()
	payload, err := s.client.Call(s.t.Context(), "tools.invoke", map[string]any{"name": tool, "agentId": agent, "args": args})
	if err != nil {
		s.t.Fatalf("%s uses %s: %v", agent, tool, err)
	}
	var answer struct {
		OK     bool
		Output struct{ Content []struct{ Text string } }
		Error  json.RawMessage
	}
	if err := json.Unmarshal(payload, &answer); err != nil || !answer.OK || len(answer.Output.Content) == 0 {
		s.t.Fatalf("%s uses %s: %v %s", agent, tool, err, payload)
	}
	if err := json.Unmarshal([]byte(answer.Output.Content[0].Text), &said); err != nil {
		s.t.Fatalf("%s uses %s: %v in %s", agent, tool, err, payload)
	}
	return said
}

// heard are the questions that an agent's model got, the first one first.
func (s *scenario) heard(agent string) (list []a2atest.Asked) {
	for _, a := range s.models.Asked() {
		if a.Agent == agent {
			list = append(list, a)
		}
	}
	return list
}

// shownWorkSession is what the API shows of a work session.
type shownWorkSession struct {
	WorkSessionID, Status, Title, Summary string
	BlockedReason                         *string
	EventCount                            int
	RoleCounts                            map[string]int
	LastMessage                           *struct{ From, Text string }
	Threads                               []struct {
		ID     string
		Events []struct{ Type, DisplayText string }
	}
}

func (s *scenario) workSessions() (list []shownWorkSession) {
	s.t.Helper()
	var page struct{ Sessions []shownWorkSession }
	s.get("/api/work-sessions?limit=200&include=summary", &page)
	for _, short := range page.Sessions {
		var one struct{ Session shownWorkSession }
		s.get("/api/work-sessions/"+short.WorkSessionID, &one)
		one.Session.Title, one.Session.Summary, one.Session.LastMessage, one.Session.BlockedReason = short.Title, short.Summary, short.LastMessage, short.BlockedReason
		list = append(list, one.Session)
	}
	return list
}

// file puts a file below the state directory.
func (s *scenario) file(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.server.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}
