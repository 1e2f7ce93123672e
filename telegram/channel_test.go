package telegram_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/channeltest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/telegram"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
)

func TestTelegramIsAChannel(t *testing.T) {
	t.Parallel()
	amounts := channeltest.Amounts{Messages: testscale.Of(18, 120), Posts: testscale.Of(12, 80), Kills: testscale.Of(4, 40*testscale.Times), Patience: testscale.Patience}
	channeltest.Run(t, amounts, func(t *testing.T, agents []string, now func() time.Time) channeltest.Stage {
		return newStage(t, agents, now, false)
	})
}

// Telegram calls the bots instead of being asked.
func TestTelegramIsAChannelByWebhook(t *testing.T) {
	t.Parallel()
	amounts := channeltest.Amounts{Messages: testscale.Of(12, 60), Posts: testscale.Of(6, 40), Kills: testscale.Of(3, 20*testscale.Times), Patience: testscale.Patience}
	channeltest.Run(t, amounts, func(t *testing.T, agents []string, now func() time.Time) channeltest.Stage {
		return newStage(t, agents, now, true)
	})
}

// stage is a Telegram with the team of the suite.
type stage struct {
	*telegramtest.Server
	t    *testing.T
	bora *telegramtest.Person
	bots map[string]*telegramtest.Bot
	port map[string]int // of the webhooks; nil: the bots ask

	mu     sync.Mutex
	places map[string]*telegramtest.Chat
}

func newStage(t *testing.T, agents []string, now func() time.Time, webhooks bool) *stage {
	t.Helper()
	s, err := telegramtest.New(telegramtest.Options{Now: now, Limits: telegramtest.NoLimits(), Retry: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	st := &stage{Server: s, t: t, bora: s.AddPerson("Bora"), bots: map[string]*telegramtest.Bot{}, places: map[string]*telegramtest.Chat{}}
	for _, agent := range agents {
		st.bots[agent] = s.AddBot(agent, telegramtest.BotOptions{WithoutPrivacy: true})
	}
	if webhooks {
		st.port = map[string]int{}
		for _, agent := range agents {
			st.port[agent] = freePort(t)
		}
	}
	return st
}

func (s *stage) Name() string { return "telegram" }

func (s *stage) Person() string { return fmt.Sprint(s.bora.ID) }

func (s *stage) Settings() string {
	var accounts []string
	for agent, bot := range s.bots {
		own := fmt.Sprintf("\"botToken\": %q", bot.Token)
		if port, is := s.port[agent]; is {
			own += fmt.Sprintf(`, "webhookUrl": "http://127.0.0.1:%d/hook", "webhookSecret": "s3cret", "webhookPath": "/hook", "webhookPort": %d`, port, port)
		}
		accounts = append(accounts, fmt.Sprintf("%q: {%s}", agent, own))
	}
	return fmt.Sprintf(`{"accounts": {%s}, "dmPolicy": "open", "allowFrom": ["*"], "groupPolicy": "open", "groups": {"*": {}}, "collaboration": {"rateLimit": {"messagePerChannelPerSecond": 1000}}}`,
		strings.Join(accounts, ", "))
}

func (s *stage) Open(o channel.Options) channel.Channel {
	transport, err := telegram.Redirect(s.URL())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(transport.(interface{ CloseIdleConnections() }).CloseIdleConnections)
	o.Transport = transport
	return telegram.New(o)
}

func (s *stage) Place() (guild, place string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var users []telegramtest.User
	for _, bot := range s.bots {
		users = append(users, bot.User)
	}
	ch := s.AddGroup(fmt.Sprint("place-", len(s.places)), telegramtest.GroupOptions{}, s.bora, users...)
	s.places[placeID(ch)] = ch
	return placeID(ch), placeID(ch)
}

func (s *stage) Direct(agent string) string {
	ch := s.bora.Private(s.bots[agent])
	place := fmt.Sprintf("telegram:%d.%d", ch.ID, s.bots[agent].ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places[place] = ch
	return place
}

func (s *stage) at(place string) *telegramtest.Chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.places[place]
}

func (s *stage) Say(place, agent, text string) string {
	if agent != "" {
		text = "@" + s.bots[agent].Username + " " + text
	}
	m, err := s.bora.Write(s.at(place), text)
	if err != nil {
		s.t.Error(err)
	}
	return fmt.Sprintf("%s:%d", place, m.MessageID)
}

func (s *stage) Upload(place, agent, text, name string, content []byte) string {
	m, err := s.bora.Send(s.at(place), telegramtest.Draft{Text: "@" + s.bots[agent].Username + " " + text, Document: content, FileName: name})
	if err != nil {
		s.t.Error(err)
	}
	return fmt.Sprintf("%s:%d", place, m.MessageID)
}

func (s *stage) FileTrouble(what channeltest.Trouble) { s.trouble(what, "getFile", 0) }

func (s *stage) Posts(place string) (posts []channeltest.Post) {
	for _, m := range s.at(place).Messages() {
		for agent, bot := range s.bots {
			if m.From.ID == bot.ID {
				post := channeltest.Post{ID: fmt.Sprintf("%s:%d", place, m.MessageID), Agent: agent, Text: marked(m)}
				if m.Document != nil {
					post.Text += channeltest.FileText(s.FileOf(m.Document.FileID))
				}
				for _, photo := range m.Photo {
					post.Text += channeltest.FileText(s.FileOf(photo.FileID))
				}
				posts = append(posts, post)
			}
		}
	}
	return posts
}

// marked is a text with the marks of code, as agents write it.
func marked(m telegramtest.Message) string {
	units := utf16.Encode([]rune(m.Text))
	out, at := "", 0
	for _, e := range m.Entities {
		if e.Type == "code" {
			out += string(utf16.Decode(units[at:e.Offset])) + "`" + string(utf16.Decode(units[e.Offset:e.Offset+e.Length])) + "`"
			at = e.Offset + e.Length
		}
	}
	return out + string(utf16.Decode(units[at:]))
}

func (s *stage) Requests() int {
	return len(s.Server.Requests(telegramtest.Match{Test: func(r telegramtest.Request) bool { return !strings.HasPrefix(r.Method, "get") }}))
}

func (s *stage) Cut(agent string) { s.bots[agent].Drop() }

// Forget is Cut: Telegram keeps what a bot has not confirmed.
func (s *stage) Forget(agent string) { s.bots[agent].Drop() }

func (s *stage) Twice(on bool) { s.RepeatUpdates(on) }

func (s *stage) Trouble(what channeltest.Trouble, after int) {
	s.inject(what, telegramtest.Match{Test: func(r telegramtest.Request) bool {
		return r.Method == "sendMessage" || r.Method == "sendDocument" || r.Method == "sendPhoto"
	}}, after)
}

func (s *stage) trouble(what channeltest.Trouble, method string, after int) {
	s.inject(what, telegramtest.Match{Method: method}, after)
}

func (s *stage) inject(what channeltest.Trouble, match telegramtest.Match, after int) {
	effects := map[channeltest.Trouble]telegramtest.Effect{channeltest.Refused: telegramtest.Unavailable(500), channeltest.Lost: telegramtest.LoseAnswer(),
		channeltest.Limited: telegramtest.TooMany(time.Second), channeltest.NeverOut: telegramtest.Cut()}
	s.Inject(telegramtest.Fault{Match: match, After: after, Effect: effects[what]})
}

// Blind changes nothing: bots of Telegram always are.
func (s *stage) Blind(bool) {}
