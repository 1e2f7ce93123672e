package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/internal/faults"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/slack/slacktest"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// fileRounds is how often the server is killed while files are posted and received.
var fileRounds = testscale.Of[uint64](3, 20*testscale.Times)

// fileStage is a service in which a person and the bot of ruda write to each other.
type fileStage interface {
	channel() string
	settings() string // in openclaw.json
	env() string      // tells a process where the service is
	set(*Options)
	to() string // the conversation, for clients
	say(t *testing.T, text string)
	upload(t *testing.T, text, name string, content []byte)
	posted() []string   // what the bot has posted: a text, or what postedFile makes of a file
	requests() []string // at which the server is killed
	aim(request string, nth int, before bool, do func()) *faults.Injected
	blind() bool // texts that the bot has posted cannot be looked up
}

// postedFile is how a file that was posted is compared.
func postedFile(name string, content []byte) string {
	sum := sha256.Sum256(content)
	return name + " " + hex.EncodeToString(sum[:])
}

const filesConfig = `{
  gateway: { auth: { mode: "token", token: "secret" } },
  agents: { list: [{ id: "ruda", default: true, model: "test/ruda", workspace: %q }], defaults: { taskContinuation: { enabled: false }, maxConcurrent: 8 } },
  bindings: [{ agentId: "ruda", match: { channel: %q, accountId: "ruda" } }],
  channels: { %q: %s },
  models: { providers: { test: { baseUrl: %q, apiKey: "none", models: [{ id: "ruda" }] } } },
}`

// fileWish is what a person asks for with a matter of its own, k1, k2, ...: to keep a file, to post one with a tool, or in the answer.
var fileWish = regexp.MustCompile(`(keep|post|answer) (k\d+)\.`)

// wishIn is the last wish of a text; "" if there is none.
func wishIn(text string) (what, matter string) {
	all := fileWish.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return "", ""
	}
	last := all[len(all)-1]
	return last[1], last[2]
}

// filesMind answers for ruda's model.
func filesMind(a a2atest.Asked) a2atest.Answer {
	what, matter := wishIn(a.Message())
	switch {
	case what == "": // the first message in Telegram, /start
		return a2atest.Say("NO_REPLY")
	case what == "post" && !a.AfterTool():
		return a2atest.Use(a2atest.Call{Name: "message", ID: "post_" + matter, Args: map[string]any{"path": matter + ".bin", "message": "the file of " + matter}})
	case what == "post" && !strings.Contains(a.Last().Text, "is on its way"):
		return a2atest.Say(matter + " was refused: " + a.Last().Text)
	case what == "answer":
		return a2atest.Say("done: answer " + matter + "\nMEDIA:" + matter + ".bin")
	}
	return a2atest.Say("done: " + what + " " + matter)
}

// fileMatter is what was asked for.
type fileMatter struct {
	what, name string
	content    []byte
}

// fileKills is a state directory whose server is killed while files are posted and received.
type fileKills struct {
	*kills
	stage   fileStage
	home    string
	matters []fileMatter
	sending sync.WaitGroup

	mu           sync.Mutex
	acknowledged int            // requests of clients to post
	met          map[string]int // kills by request
}

// next is a new matter, with its file, which lies in the workspace unless the person sends it.
func (k *fileKills) next(t *testing.T, r *rand.Rand, what string) fileMatter {
	t.Helper()
	m := fileMatter{what: what, name: fmt.Sprint("k", len(k.matters)+1), content: make([]byte, 1+r.IntN(64<<10))}
	for i := range m.content {
		m.content[i] = byte(r.IntN(256))
	}
	k.matters = append(k.matters, m)
	if what != "keep" {
		if err := os.WriteFile(filepath.Join(k.home, m.name+".bin"), m.content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// begins asks for one thing.
func (k *fileKills) begins(t *testing.T, c *client.Client, r *rand.Rand) {
	t.Helper()
	m := k.next(t, r, []string{"keep", "post", "answer", "send"}[r.IntN(4)])
	switch m.what {
	case "keep":
		k.stage.upload(t, "keep "+m.name+".", m.name+".bin", m.content)
	case "post", "answer":
		k.stage.say(t, m.what+" "+m.name+".")
	case "send":
		k.sending.Go(func() { _ = k.sends(t.Context(), c, m) }) // it is asked for again
	}
}

// sends has a client post a file, once per matter.
func (k *fileKills) sends(ctx context.Context, c *client.Client, m fileMatter) error {
	_, err := c.Call(ctx, "send", map[string]any{"channel": k.stage.channel(), "to": k.stage.to(), "accountId": "ruda", "agentId": "ruda",
		"message": "sent: " + m.name, "mediaUrl": m.name + ".bin", "idempotencyKey": m.name})
	if err == nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.acknowledged++
	}
	return err
}

// round has files posted and received, and kills the server at a request to the service or, if that does not come, at a random time.
func (k *fileKills) round(t *testing.T, r *rand.Rand) {
	t.Helper()
	v := startVictim(t, k.dir, k.stage.env())
	struck := make(chan struct{})
	strike := sync.OnceFunc(func() {
		v.kill()
		close(struck)
	})
	aim := k.stage.requests()[r.IntN(len(k.stage.requests()))]
	fault := k.stage.aim(aim, r.IntN(3), r.IntN(2) == 0, strike)
	c, err := client.Dial(t.Context(), v.url, client.Options{Token: "secret"})
	if err != nil { // struck at a request of its start
		waitFor(t, "the kill", struck)
		k.met[aim]++
		return
	}
	for range 1 + r.IntN(4) {
		k.begins(t, c, r)
	}
	late := time.NewTimer([]time.Duration{5 * time.Second, upTo(r, 1500*time.Millisecond)}[r.IntN(2)])
	select {
	case <-late.C:
	case <-struck:
		k.met[aim]++
	}
	fault.Remove()
	v.kill()
	_ = c.Close()
	k.sending.Wait()
}

// Agents and clients post files, and a person sends some, while the program is killed before and after requests to the service, and at any
// time. No file and no text is posted twice; what was not posted is said to be unknown; every request of a client and every message of the
// person has its delivery; and each file of the person lies beside the log, and reaches the agent once.
func killsAroundFiles(t *testing.T, stage fileStage) {
	t.Helper()
	k := &fileKills{kills: newKills(t, fileRounds), stage: stage, met: map[string]int{}}
	k.home = filepath.Join(k.dir, "home")
	if err := os.MkdirAll(k.home, 0o700); err != nil {
		t.Fatal(err)
	}
	models := a2atest.NewModel(t, filesMind)
	k.configure(t, fmt.Sprintf(filesConfig, k.home, stage.channel(), stage.channel(), stage.settings(), models.URL), "unused.json", "{}")
	k.hearsOnce(t, rand.New(rand.NewPCG(k.base, 12)))
	began := time.Now()
	k.each(11, func(r *rand.Rand) { k.round(t, r) })
	killed := time.Since(began)

	p := startReloading(t, nil, func(o *Options) {
		o.StateDir, o.DB, o.Gateway = k.dir, filepath.Join(k.dir, database.Name), "127.0.0.1:0"
		stage.set(o)
	})
	c := connect(t, gatewayURL(p.gatewayAddress()))
	for _, m := range k.matters {
		if m.what == "send" {
			if err := k.sends(t.Context(), c, m); err != nil && !strings.Contains(err.Error(), "delivery_unknown") {
				t.Errorf("%s of a client: %v", m.name, err)
			}
		}
	}
	ledger := k.awaitsEnds(t, p)
	k.judge(t, p, ledger)
	t.Logf("%s: %d rounds in %s, kills at requests: %v", stage.channel(), k.rounds, killed.Round(time.Second), k.met)
	k.end(t, p)
}

// hearsOnce lets the first server hear something: what is written before is not made up for.
func (k *fileKills) hearsOnce(t *testing.T, r *rand.Rand) {
	t.Helper()
	v := startVictim(t, k.dir, k.stage.env())
	if s, is := k.stage.(interface{ connected(t *testing.T) }); is {
		s.connected(t)
	}
	answered := make(chan struct{})
	fault := k.stage.aim(k.stage.requests()[0], 0, false, sync.OnceFunc(func() { close(answered) }))
	m := k.next(t, r, "keep")
	k.stage.upload(t, "keep "+m.name+".", m.name+".bin", m.content)
	waitFor(t, "the first answer", answered)
	fault.Remove()
	v.kill()
}

// fileLedger is what the log says of posts and runs.
type fileLedger struct {
	posts map[string]*filePost // by stream
	runs  map[string][]string  // runs that were asked for, by wish
	told  map[string][]string  // messages in transcripts of the agent, by wish
}

type filePost struct {
	delivery.Delivery
	end      delivery.State // "" if it has none
	doubtful int            // of Unknown: the index of the message
}

// reads reads the whole log.
func (k *fileKills) reads(t *testing.T, p *reloading) *fileLedger {
	t.Helper()
	l := &fileLedger{posts: map[string]*filePost{}, runs: map[string][]string{}, told: map[string][]string{}}
	for after := int64(0); ; {
		events, err := p.Program.log.Read(t.Context(), after, 1_000)
		if err != nil {
			t.Fatal(err)
		}
		if len(events) == 0 {
			return l
		}
		for i := range events {
			after = events[i].Seq
			if err := l.fold(events[i].Type, events[i].Stream, events[i].Data); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (l *fileLedger) fold(typ, stream string, data []byte) error {
	post := l.posts[stream]
	switch typ {
	case coordination.TypeWorkScheduled:
		var what coordination.WorkScheduled
		if err := json.Unmarshal(data, &what); err != nil {
			return err
		}
		if what.Kind == coordination.Discord || what.Kind == coordination.Telegram || what.Kind == coordination.Slack {
			post = &filePost{}
			l.posts[stream] = post
			return json.Unmarshal(what.Payload, &post.Delivery)
		}
	case coordination.TypeRunQueued:
		var d coordination.RunQueued
		if err := json.Unmarshal(data, &d); err != nil {
			return err
		}
		what, matter := wishIn(d.Message)
		l.runs[what+matter] = append(l.runs[what+matter], d.RunID)
	case coordination.TypeSessionMessage:
		var d coordination.SessionMessage
		if err := json.Unmarshal(data, &d); err != nil {
			return err
		}
		if what, matter := wishIn(d.Text); d.Author == "user" {
			l.told[what+matter] = append(l.told[what+matter], string(data))
		}
	case coordination.TypeWorkCompleted:
		if post != nil {
			post.end = delivery.Done
		}
	case coordination.TypeDiscordDeliveryUnknown:
		var d coordination.DiscordOutbound
		if err := json.Unmarshal(data, &d); err != nil {
			return err
		}
		post.end, post.doubtful = delivery.Unknown, d.Index
	case coordination.TypeWorkDead:
		if post != nil && post.end == "" {
			post.end = delivery.Failed
		}
	}
	return nil
}

// answers are the posts that answer a wish: those of its runs.
func (l *fileLedger) answers(m fileMatter) (n int) {
	for _, post := range l.posts {
		if (post.Purpose == delivery.Reply || post.Purpose == delivery.Notice) && slices.Contains(l.runs[m.what+m.name], post.RunID) {
			n++
		}
	}
	return n
}

// awaitsEnds waits until every wish of the person is answered, and nothing is left to do.
func (k *fileKills) awaitsEnds(t *testing.T, p *reloading) *fileLedger {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), testscale.Patience)
	defer stop()
	for {
		head, err := p.Program.log.Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		l := k.reads(t, p)
		open := 0
		for _, m := range k.matters {
			if m.what != "send" && l.answers(m) == 0 {
				open++
			}
		}
		for _, post := range l.posts {
			if post.end == "" {
				open++
			}
		}
		if open == 0 {
			return l
		}
		if _, err := p.Program.log.Wait(ctx, head.Seq+1); err != nil {
			t.Fatalf("%d answers and posts are missing: %v", open, err)
		}
	}
}

// plain is a text without the marks of code, which Telegram shows in another way.
func plain(text string) string { return strings.ReplaceAll(text, "`", "") }

// judge compares what the log says with what the service has.
func (k *fileKills) judge(t *testing.T, p *reloading, l *fileLedger) {
	t.Helper()
	posted := map[string]int{}
	for _, one := range k.stage.posted() {
		posted[plain(one)]++
	}
	files, ends := map[string]int{}, map[delivery.State]int{}
	for _, post := range l.posts {
		if ends[post.end]++; post.end == delivery.Unknown && !k.stage.blind() && post.doubtful < len(post.Messages) {
			t.Errorf("%s %s: it is unknown whether %q was posted, which could be looked up", post.Purpose, post.RunID, post.Messages[post.doubtful])
		}
		for i := range post.Posts() {
			text, f := post.Post(i)
			if f != nil {
				files[f.Name]++
				text = f.Name + " " + f.SHA256
			}
			text = plain(text)
			n := posted[text]
			delete(posted, text)
			if n > 1 || n == 0 && post.end == delivery.Done || post.end == delivery.Failed {
				t.Errorf("%q of %s %s has ended %q, and was posted %d times", text, post.Purpose, post.RunID, post.end, n)
			}
		}
	}
	for text, n := range posted {
		t.Errorf("%q was posted %d times, and the log knows nothing of it", text, n)
	}
	const atOnce = 2 // an answer of a run, and a post that a tool or a client has asked for
	if n := ends[delivery.Unknown]; n > atOnce*int(k.rounds) {
		t.Errorf("%d posts are said to be unknown, after %d kills", n, k.rounds)
	}
	noticed := 0
	for _, m := range k.matters {
		noticed += k.judgeMatter(t, p, l, m, files[m.name+".bin"])
	}
	t.Logf("%d matters, %d requests of clients answered; ends of posts: %v; %d runs were given up, and people told so", len(k.matters), k.acknowledged, ends,
		noticed)
}

// judgeMatter checks one matter, whose file so many posts have. It returns how many notices say that a run was given up.
func (k *fileKills) judgeMatter(t *testing.T, p *reloading, l *fileLedger, m fileMatter, posts int) (notices int) {
	t.Helper()
	if m.what == "send" {
		if posts != 1 {
			t.Errorf("%s of a client has %d posts", m.name, posts)
		}
		return 0
	}
	if n := l.answers(m); n != 1 {
		t.Errorf("%s %s has %d answers", m.what, m.name, n)
	}
	for _, post := range l.posts {
		if post.Purpose == delivery.Notice && slices.Contains(l.runs[m.what+m.name], post.RunID) {
			notices++
		}
	}
	if keeps := m.what == "keep"; keeps && posts > 0 || posts > 1 || !keeps && posts+notices == 0 {
		t.Errorf("%s %s has %d posts of its file", m.what, m.name, posts)
	}
	told := l.told[m.what+m.name]
	if len(told) != 1 {
		t.Errorf("%s %s is in %d messages of transcripts", m.what, m.name, len(told))
	}
	if m.what == "keep" {
		sum := sha256.Sum256(m.content)
		name := hex.EncodeToString(sum[:])
		content, err := p.Program.files.Read(name, maxPosted)
		if err != nil || string(content) != string(m.content) || len(told) > 0 && strings.Count(told[0], name) != 1 {
			t.Errorf("%s: %d bytes lie beside the log, %v, and the agent is told %q", m.name, len(content), err, told)
		}
	}
	return notices
}

// What the bot has posted cannot be looked up in Telegram: see killsAroundFiles.
//
// Promise: posted-once
func TestKillsAroundFilesInTelegram(t *testing.T) {
	t.Parallel()
	s, err := telegramtest.New(telegramtest.Options{Limits: telegramtest.NoLimits()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	bot, person := s.AddBot("ruda", telegramtest.BotOptions{}), s.AddPerson("Bora")
	killsAroundFiles(t, &telegramFiles{s, bot, person, person.Private(bot)})
}

type telegramFiles struct {
	server *telegramtest.Server
	bot    *telegramtest.Bot
	person *telegramtest.Person
	chat   *telegramtest.Chat
}

func (s *telegramFiles) channel() string { return coordination.Telegram }
func (s *telegramFiles) env() string     { return envTelegramAPI + "=" + s.server.URL() }
func (s *telegramFiles) set(o *Options)  { o.TelegramAPI = s.server.URL() }
func (s *telegramFiles) to() string      { return fmt.Sprintf("telegram:%d.%d", s.person.ID, s.bot.ID) }
func (s *telegramFiles) blind() bool     { return true }
func (s *telegramFiles) settings() string {
	return fmt.Sprintf(`{ accounts: { ruda: { botToken: %q } }, dmPolicy: "allowlist", allowFrom: ["%d"] }`, s.bot.Token, s.person.ID)
}

func (s *telegramFiles) requests() []string {
	return []string{"sendMessage", "sendDocument", "sendDocument", "getFile"}
}

func (s *telegramFiles) aim(request string, nth int, before bool, do func()) *faults.Injected {
	effect := telegramtest.Afterwards(do)
	if before {
		effect = telegramtest.Beforehand(do)
	}
	return s.server.Inject(telegramtest.Fault{Match: telegramtest.Match{Method: request}, After: nth, Effect: effect})
}

func (s *telegramFiles) say(t *testing.T, text string) {
	t.Helper()
	if _, err := s.person.Write(s.chat, text); err != nil {
		t.Fatal(err)
	}
}

func (s *telegramFiles) upload(t *testing.T, text, name string, content []byte) {
	t.Helper()
	if _, err := s.person.Send(s.chat, telegramtest.Draft{Text: text, Document: content, FileName: name}); err != nil {
		t.Fatal(err)
	}
}

func (s *telegramFiles) posted() (all []string) {
	for _, m := range s.chat.Messages() {
		switch {
		case m.From.ID != s.bot.ID:
		case m.Document != nil:
			all = append(all, postedFile(m.Document.FileName, s.server.FileOf(m.Document.FileID)))
		default:
			all = append(all, m.Text)
		}
	}
	return all
}

// What the app has posted can be looked up in Slack, so no text is unknown; a file may be, since Slack may show it a minute later: see
// killsAroundFiles.
//
// Promise: posted-once
func TestKillsAroundFilesInSlack(t *testing.T) {
	t.Parallel()
	s, err := slacktest.New(slacktest.Options{Limits: slacktest.NoLimits(), Retries: []time.Duration{time.Millisecond, 100 * time.Millisecond, 2 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	app, person := s.AddApp("ruda", slacktest.AppOptions{}), s.AddPerson("bora")
	killsAroundFiles(t, &slackFiles{s, app, person, person.Conversation(app.UserID)})
}

type slackFiles struct {
	server *slacktest.Server
	app    *slacktest.App
	person *slacktest.Person
	direct slacktest.Channel
}

func (s *slackFiles) channel() string { return coordination.Slack }
func (s *slackFiles) env() string     { return envSlackAPI + "=" + s.server.URL() }
func (s *slackFiles) set(o *Options)  { o.SlackAPI = s.server.URL() }
func (s *slackFiles) to() string      { return s.direct.ID }
func (s *slackFiles) blind() bool     { return false }
func (s *slackFiles) settings() string {
	return fmt.Sprintf(`{ accounts: { ruda: { botToken: %q, appToken: %q } }, dmPolicy: "allowlist", allowFrom: [%q] }`, s.app.Token, s.app.AppToken, s.person.ID)
}

func (s *slackFiles) requests() []string {
	return []string{"chat.postMessage", "files.getUploadURLExternal", "upload", "files.completeUploadExternal", "files.completeUploadExternal", "download",
		"conversations.history"}
}

func (s *slackFiles) aim(request string, nth int, before bool, do func()) *faults.Injected {
	effect := slacktest.Afterwards(do)
	if before {
		effect = slacktest.Beforehand(do)
	}
	return s.server.Inject(slacktest.Fault{Match: slacktest.Match{Method: request}, After: nth, Effect: effect})
}

func (s *slackFiles) say(t *testing.T, text string) {
	t.Helper()
	if _, err := s.person.Post(s.direct.ID, text); err != nil {
		t.Fatal(err)
	}
}

func (s *slackFiles) upload(t *testing.T, text, name string, content []byte) {
	t.Helper()
	if _, err := s.person.Upload(s.direct.ID, name, text, content); err != nil {
		t.Fatal(err)
	}
}

func (s *slackFiles) posted() (all []string) {
	for _, m := range s.server.Messages(s.direct.ID) {
		if m.User == s.person.ID {
			continue
		}
		for _, f := range m.Files {
			all = append(all, postedFile(f.Name, s.server.FileOf(f.ID)))
		}
		if len(m.Files) == 0 {
			all = append(all, m.Text)
		}
	}
	return all
}

// A message with a file can be looked up in Discord as any other: see killsAroundFiles.
//
// Promise: posted-once
func TestKillsAroundFilesInDiscord(t *testing.T) {
	t.Parallel()
	s, err := discordtest.New(discordtest.Options{Limits: discordtest.NoLimits(), Global: discordtest.Limit{Requests: 100_000, Per: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	guild, bot, person := s.AddGuild("lab"), s.AddBot("ruda", discordtest.BotOptions{}), s.AddHuman("bora")
	guild.Join(bot.ID, person.ID)
	direct, err := person.Conversation(bot.ID)
	if err != nil {
		t.Fatal(err)
	}
	killsAroundFiles(t, &discordFiles{s, bot, person, direct})
}

type discordFiles struct {
	server *discordtest.Server
	bot    *discordtest.Bot
	person *discordtest.Human
	direct discordtest.Channel
}

func (s *discordFiles) channel() string { return coordination.Discord }
func (s *discordFiles) env() string     { return envDiscordAPI + "=" + s.server.URL() }
func (s *discordFiles) set(o *Options)  { o.DiscordAPI = s.server.URL() }
func (s *discordFiles) to() string      { return "user:" + s.person.ID }
func (s *discordFiles) blind() bool     { return false }
func (s *discordFiles) settings() string {
	return fmt.Sprintf(`{ accounts: { ruda: { token: %q, botUserId: %q } }, dmPolicy: "allowlist", allowFrom: [%q] }`, s.bot.Token, s.bot.ID, s.person.ID)
}

// connected waits for the bot: Discord tells it nothing of what was written before it first connected.
func (s *discordFiles) connected(t *testing.T) {
	t.Helper()
	if err := s.server.WaitConnected(t.Context(), s.bot.ID); err != nil {
		t.Fatal(err)
	}
}

func (s *discordFiles) requests() []string {
	return []string{postingMessages, postingMessages, postingMessages, "GET /attachments/{channel}/{file}/*", listingMessages}
}

func (s *discordFiles) aim(request string, nth int, before bool, do func()) *faults.Injected {
	effect := discordtest.Afterwards(do)
	if before {
		effect = discordtest.Beforehand(do)
	}
	return s.server.Inject(discordtest.Fault{Match: discordtest.Match{Route: request}, After: nth, Effect: effect})
}

func (s *discordFiles) say(t *testing.T, text string) {
	t.Helper()
	if _, err := s.person.Post(s.direct.ID, text); err != nil {
		t.Fatal(err)
	}
}

func (s *discordFiles) upload(t *testing.T, text, name string, content []byte) {
	t.Helper()
	if _, err := s.person.Attach(s.direct.ID, text, discordtest.Attachment{Filename: name, Content: content}); err != nil {
		t.Fatal(err)
	}
}

func (s *discordFiles) posted() (all []string) {
	for _, m := range s.server.Messages(s.direct.ID) {
		if m.Author.ID != s.bot.ID {
			continue
		}
		for _, f := range m.Attachments {
			all = append(all, postedFile(f.Filename, s.server.FileOf(f)))
		}
		if m.Content != "" {
			all = append(all, m.Content)
		}
	}
	return all
}
