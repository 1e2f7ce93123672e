package collaborate_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		change      func(*world, *collaborate.Request)
		code, field string
		says        string // in text or hint
	}{
		{"no requester", func(_ *world, r *collaborate.Request) { r.From = " " }, collaborate.CodeInvalid, "from", ""},
		{"no target", func(_ *world, r *collaborate.Request) { r.Target = "" }, collaborate.CodeInvalid, "targetAgent", ""},
		{"no message", func(_ *world, r *collaborate.Request) { r.Message = " \n\u3000" }, collaborate.CodeInvalid, "message", ""},
		{"a message that is too long", func(_ *world, r *collaborate.Request) { r.Message = strings.Repeat("가", 2001) }, collaborate.CodeInvalid, "message", "2001"},
		{"a message that is damaged", func(_ *world, r *collaborate.Request) { r.Message = "\xff" }, collaborate.CodeInvalid, "message", "UTF-8"},
		{"an id that is too long", func(_ *world, r *collaborate.Request) { r.ThreadID = strings.Repeat("9", 129) }, collaborate.CodeInvalid, "threadId", "129"},
		{"an id with control characters", func(_ *world, r *collaborate.Request) { r.ChannelID = "1\n2" }, collaborate.CodeInvalid, "channelId", ""},
		{"itself", func(_ *world, r *collaborate.Request) { r.Target = "Ruda" }, collaborate.CodeSelf, "targetAgent", ""},
		{"itself by its account", func(_ *world, r *collaborate.Request) { r.Target = "default" }, collaborate.CodeSelf, "targetAgent", ""},
		{"itself by a mention", func(_ *world, r *collaborate.Request) { r.Target = "<@!11>" }, collaborate.CodeSelf, "targetAgent", ""},
		{"the policy", func(_ *world, r *collaborate.Request) { r.Target = "forbidden" }, collaborate.CodeForbidden, "targetAgent", "change the rule"},
		{"an unknown agent", func(_ *world, r *collaborate.Request) { r.Target = "mimi" }, collaborate.CodeMapping, "targetAgent",
			`{agentId: "mimi", match: {channel: "discord"`},
		{"an agent without a binding", func(_ *world, r *collaborate.Request) { r.Target = "mute" }, collaborate.CodeMapping, "targetAgent", `{agentId: "mute"`},
		{"an agent whose bot is offline", func(_ *world, r *collaborate.Request) { r.Target = "dajim" }, collaborate.CodeMapping, "targetAgent",
			"channels.discord.accounts.dajim-bot"},
		{"an unknown account", func(_ *world, r *collaborate.Request) { r.AccountID = "nix" }, collaborate.CodeAccount, "accountId", "nix"},
		{"the target's own account", func(_ *world, r *collaborate.Request) { r.AccountID = "eden-bot" }, collaborate.CodeAccount, "accountId", ""},
		{"no bot to post with", func(w *world, r *collaborate.Request) {
			r.From, r.Target, w.s.Policy.DefaultAccount = "mute", "eden", ""
		}, collaborate.CodeMapping, "from", "mute"},
		{"only the target's bot to speak", func(_ *world, r *collaborate.Request) { r.From, r.Target = "mute", "ruda" }, collaborate.CodeMapping, "from", "mute"},
		{"a channel that is not allowed", func(_ *world, r *collaborate.Request) { r.ChannelID = private }, collaborate.CodeChannel, "channelId", "allowedChannels"},
		{"a channel that does not exist", func(_ *world, r *collaborate.Request) { r.ChannelID = "999" }, collaborate.CodeNotFound, "channelId", ""},
		{"direct messages", func(_ *world, r *collaborate.Request) { r.ChannelID = peer }, collaborate.CodeInvalid, "channelId", ""},
		{"a thread for a channel", func(w *world, r *collaborate.Request) { w.thread("7", lobby); r.ChannelID = "7" }, collaborate.CodeInvalid, "channelId", "threadId"},
		{"a channel for a thread", func(_ *world, r *collaborate.Request) { r.ThreadID = lobby }, collaborate.CodeInvalid, "threadId", "channelId"},
		{"a thread that does not exist", func(_ *world, r *collaborate.Request) { r.ThreadID = "999" }, collaborate.CodeNotFound, "threadId", ""},
		{"a thread elsewhere", func(w *world, r *collaborate.Request) { w.thread("7", lobby); r.ThreadID, r.ChannelID = "7", lab }, collaborate.CodeInvalid, "channelId", "7"},
		{"a thread of a channel that is not allowed", func(w *world, r *collaborate.Request) { w.thread("7", private); r.ThreadID = "7" },
			collaborate.CodeChannel, "threadId", private},
		{"a thread without a channel", func(w *world, r *collaborate.Request) {
			w.thread("7", "")
			r.ThreadID, w.s.Policy.DefaultChannel = "7", ""
		},
			collaborate.CodeChannel, "threadId", ""},
		{"a thread that is locked", func(w *world, r *collaborate.Request) {
			w.thread("7", lobby).change("7", func(p *collaborate.Place) { p.Locked = true })
			r.ThreadID = "7"
		}, collaborate.CodeLocked, "threadId", ""},
		{"the session's channel is not allowed", func(w *world, _ *collaborate.Request) { w.s.Session.ChannelID = private }, collaborate.CodeChannel, "channelId", private},
		{"a guild that is not allowed", func(w *world, r *collaborate.Request) {
			w.s.Policy.AllowedGuilds = []string{guild}
			r.ChannelID = abroad
		},
			collaborate.CodeChannel, "channelId", "allowedGuilds"},
		{"the default channel in a guild that is not allowed", func(w *world, _ *collaborate.Request) { w.s.Policy.AllowedGuilds = []string{"501"} },
			collaborate.CodeChannel, "channelId", "allowedGuilds"},
		{"no channel", func(w *world, _ *collaborate.Request) { w.s.Policy.DefaultChannel = "" }, collaborate.CodeNoChannel, "channelId", "defaultChannel"},
		{"a default channel that does not exist", func(w *world, _ *collaborate.Request) { w.s.Policy.DefaultChannel = "999" }, collaborate.CodeNotFound, "channelId", "999"},
		{"no list of channels is the default one only", func(w *world, r *collaborate.Request) { w.s.Policy.AllowedChannels = nil; r.ChannelID = lab },
			collaborate.CodeChannel, "channelId", lab},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := begins(t)
			r := toEden("look at it")
			tt.change(w, &r)
			no := w.refuses(r, tt.code, tt.field)
			if !strings.Contains(no.Text+" "+no.HintText, tt.says) {
				t.Errorf("%s (%s), want it to say %q", no.Text, no.HintText, tt.says)
			}
		})
	}
}

// Each request has all faults from its own on; the first one is what is said.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	w := begins(t)
	for range 10 {
		w.asks(collaborate.Request{From: "ruda", Target: "eden", Message: strconv.Itoa(w.asked), ThreadName: "x"})
	}
	judged := w.s.Judge
	w.s.Judge = func(from, target string) collaborate.Verdict {
		if target == "dajim" {
			return collaborate.Verdict{Why: "a rule", Hint: "change it"}
		}
		return judged(from, target)
	}
	w.s.Policy.DefaultChannel = ""
	for _, tt := range []struct {
		r           collaborate.Request
		code, field string
	}{
		{collaborate.Request{From: "ruda", Target: "ruda", ChannelID: private}, collaborate.CodeInvalid, "message"},
		{collaborate.Request{From: "ruda", Target: "ruda", Message: "m", ChannelID: private}, collaborate.CodeSelf, "targetAgent"},
		{collaborate.Request{From: "ruda", Target: "dajim", Message: "m", ChannelID: private}, collaborate.CodeForbidden, "targetAgent"},
		{collaborate.Request{From: "ruda", Target: "mute", Message: "m", ChannelID: private}, collaborate.CodeMapping, "targetAgent"},
		{collaborate.Request{From: "ruda", Target: "eden", Message: "m", ChannelID: private}, collaborate.CodeChannel, "channelId"},
		{collaborate.Request{From: "ruda", Target: "eden", Message: "m"}, collaborate.CodePairLimit, "targetAgent"},
		{collaborate.Request{From: "ruda", Target: "seum", Message: "m"}, collaborate.CodeNoChannel, "channelId"},
	} {
		w.refuses(tt.r, tt.code, tt.field)
	}
}

// What was passed on between agents too often is not passed on once more; the request says how often it was.
func TestHops(t *testing.T) {
	t.Parallel()
	w := begins(t)
	w.s.Policy.MaxHops = 3
	w.s.Session.Hop, w.s.Session.Key, w.s.Session.RunID = 2, "agent:ruda:main", "run-1"
	p := w.decides(toEden("m"))
	d := p.Requested(coordination.Context{}, "c").Data.(collaborate.Requested)
	if p.Hop != 3 || d.Hop == nil || *d.Hop != 3 || d.SessionKey != "agent:ruda:main" || d.RunID != "run-1" {
		t.Errorf("the plan has hop %d, the event says %+v; want hop 3, the session and the run", p.Hop, d)
	}
	w.s.Session.Hop = 3
	w.refuses(toEden("n"), collaborate.CodeHops, "targetAgent")
	w.s.Policy.MaxHops = 0
	w.decides(toEden("n"))
}

func TestPlan(t *testing.T) {
	t.Parallel()
	w := begins(t)
	p := w.decides(collaborate.Request{From: "ruda", Target: "eden", Message: " 코드 리뷰 해줘. <@13> 도 <@99> 도 봐줘 @everyone\n", ThreadName: "인증 모듈\n코드 리뷰"})
	equal(t, "the plan", *p, collaborate.Plan{From: "ruda", Target: "eden", FromName: "루다", TargetName: "이든", AccountID: "default", BotID: "11", TargetBotID: "12", Hop: 1,
		Route: collaborate.RouteNew, ThreadName: "[협업] 루다 → 이든 · 인증 모듈 코드 리뷰", ChannelID: lobby, GuildID: guild,
		Messages: []string{"<@12>\n\n코드 리뷰 해줘. <@13> 도 <@99> 도 봐줘 @everyone"}, Notify: []string{"12", "13"}, Participants: []string{"11", "12"}, Tracked: true,
		Original: "코드 리뷰 해줘. <@13> 도 <@99> 도 봐줘 @everyone", Key: p.Key, Content: p.Content, Base: begin, ReuseKey: "ruda:eden:인증 모듈 코드 리뷰"})
	key, text := p.Recall("42", "agent:ruda:main", "task_1")
	equal(t, "the session of the thread", key, "agent:ruda:discord:channel:42")
	for _, want := range []string{"이든", p.Original, "agent:ruda:main", "task_1"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q, want it to say %q", text, want)
		}
	}
}

// The requester's session of the thread is told what was asked, as its own posts do not come back to it.
func TestBug40_TheThreadsSessionKnowsTheRequest(t *testing.T) {
	t.Parallel()
	p := begins(t).decides(toEden("look at it with sk-0123456789abcdef0123"))
	key, text := p.Recall("42", "agent:ruda:main", "")
	if _, err := coordination.ParseSessionKey(key); err != nil || !strings.Contains(text, "look at it") || strings.Contains(text, "sk-0") || strings.Contains(text, "task") {
		t.Errorf("%s, %v: %q, want the request without its secret", key, err, text)
	}
}

func TestAMessageThatDoesNotFitWithItsMention(t *testing.T) {
	t.Parallel()
	message := strings.Repeat("가나다 ", 499) + "가나다라"
	p := begins(t).decides(toEden(message))
	if len(p.Messages) != 2 || !strings.HasPrefix(p.Messages[0], "<@12>\n\n") || strings.Join(p.Messages, "") != "<@12>\n\n"+message {
		t.Errorf("%q, want two messages that say all of it, the first with the mention", p.Messages)
	}
}

func TestWhoIsMeant(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{ // the agent, its bot
		"eden": {"eden", "12"}, "EDEN": {"eden", "12"}, "eden-bot": {"eden", "12"}, "<@12>": {"eden", "12"}, " eden ": {"eden", "12"},
		"seum": {"seum", "13"}, "seum-bot": {"seum", "13"}, // by the account of the binding alone
		"late": {"late", "14"}, "late-bot": {"late", "14"}, // known from its bot alone
	} {
		w := begins(t)
		w.s.Bots = append(w.s.Bots, collaborate.Bot{AccountID: "late-bot", UserID: "14", Agent: "late"})
		p := w.decides(collaborate.Request{From: "ruda", Target: name, Message: "m"})
		equal(t, name, [2]string{p.Target, p.TargetBotID}, want)
	}
}

// An account is another name of its agent: what is appended names the agent, by which its answers are known.
func TestBug36_AliasesAreTheAgents(t *testing.T) {
	t.Parallel()
	w := begins(t)
	p := w.decides(collaborate.Request{From: "eden-bot", Target: "default", Message: "m"})
	e := p.Sent(coordination.Context{}, "r", "42", []string{"5"}, w.now)
	d := e.Data.(collaborate.Sent)
	equal(t, "who asks whom", [3]string{e.AgentID, d.FromAgent, d.TargetAgent}, [3]string{"eden", "eden", "ruda"})
	equal(t, "kept under", d.ReuseKey, "eden:ruda")

	w.s.Bots[2].Agent = "dajim" // seum's account speaks for another agent now
	w.refuses(collaborate.Request{From: "ruda", Target: "seum", Message: "m"}, collaborate.CodeMapping, "targetAgent")
}

func TestAccounts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                    string
		from, account, session  string
		wantAccount, wantSender string
	}{
		{"the one that is named", "seum", "default", "seum-bot", "default", "11"},
		{"the session's", "seum", "", "default", "default", "11"},
		{"the agent's own", "seum", "", "", "seum-bot", "13"},
		{"the session's is not connected", "seum", "", "gone", "seum-bot", "13"},
		{"the session's is the target's", "seum", "", "eden-bot", "seum-bot", "13"},
		{"the default one", "mute", "", "", "default", "11"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := begins(t)
			w.s.Session.AccountID = tt.session
			p := w.decides(collaborate.Request{From: tt.from, Target: "eden", Message: "m", AccountID: tt.account})
			equal(t, "the bot that speaks", [2]string{p.AccountID, p.BotID}, [2]string{tt.wantAccount, tt.wantSender})
		})
	}
}

// The bot that asked also reminds, whatever the default bot is.
func TestBug37_TheBotThatAsksIsTold(t *testing.T) {
	t.Parallel()
	w := begins(t)
	p := w.decides(collaborate.Request{From: "seum", Target: "ruda", Message: "m"})
	equal(t, "the account", p.Sent(coordination.Context{}, "r", "42", nil, w.now).Data.(collaborate.Sent).FromAccount, "seum-bot")
}

func TestChannels(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name             string
		session, channel string
		want             string
	}{
		{"the one that is named", lobby, lab, lab},
		{"the session's", lab, "", lab},
		{"the channel of the session's thread", "7", "", lab},
		{"direct messages have no threads", peer, "", lobby},
		{"no session in Discord", "", "", lobby},
		{"a session in a channel that is gone", "999", "", lobby},
		{"a forum", "", forum, forum},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := begins(t).thread("7", lab)
			w.s.Session.ChannelID = tt.session
			r := toEden("m")
			r.ChannelID = tt.channel
			p := w.decides(r)
			equal(t, "the channel", p.ChannelID, tt.want)
			equal(t, "opened with the first message", p.Starter, tt.want == forum)
		})
	}
}

func TestLook(t *testing.T) {
	t.Parallel()
	w := begins(t)
	w.s.Session.ChannelID = lab
	_, thread := w.asks(collaborate.Request{From: "ruda", Target: "eden", Message: "m", ThreadName: "x"})
	r := collaborate.Request{From: "ruda", Target: "eden-bot", Message: "m", ThreadName: "X", ChannelID: lab, ThreadID: "7"}
	equal(t, "places to know about", w.s.RequiredPlaces(r), []string{"7", lab, lobby, thread})
}

func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("가", 200)
	family := "👨‍👩‍👧‍👦"
	for _, tt := range []struct{ name, threadName, message, want string }{
		{"a topic", "인증 모듈", "m", "[협업] 루다 → 이든 · 인증 모듈"},
		{"how the message begins", "", "코드 리뷰 해줘", "[협업] 루다 → 이든 · 코드 리뷰 해줘"},
		{"30 characters of it, in one line", "", "one\ntwo   three\tfour five six seven", "[협업] 루다 → 이든 · one two three four five six se"},
		{"mentions have names", "", "<@11>, <@!12> 봐줘", "[협업] 루다 → 이든 · @루다, @이든 봐줘"},
		{"no secrets", "sk-0123456789abcdef0123 봐줘", "m", "[협업] 루다 → 이든 · *** 봐줘"},
		{"none of a secret that is cut", "", "look at this: sk-0123456789abcdef0123", "[협업] 루다 → 이든 · look at this: ***"},
		{"a name with brackets is taken as it is", "[review] 인증", "m", "[review] 인증"},
		{"100 characters", long, "m", "[협업] 루다 → 이든 · " + strings.Repeat("가", 85)},
		{"100 characters of a name with brackets", "[a] " + long, "m", "[a] " + strings.Repeat("가", 96)},
		{"no half character", strings.Repeat("가", 80) + family, "m", "[협업] 루다 → 이든 · " + strings.Repeat("가", 80)},
		{"no lone mark", "", strings.Repeat("a", 29) + "e\u0301\u0302", "[협업] 루다 → 이든 · " + strings.Repeat("a", 29)},
		{"nothing to say", "", "---", "[협업] 루다 → 이든"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := toEden(tt.message)
			r.ThreadName = tt.threadName
			equal(t, "the name", begins(t).decides(r).ThreadName, tt.want)
		})
	}
}

// The same request is taken on once: one thread, one message.
func TestInvariant30_TheSameRequestTwice(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]collaborate.Request{"by its key": {From: "ruda", Target: "eden", Message: "m", Key: "k"}, "by what it says": toEden("m")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begins(t)
			p := w.decides(r)
			id, thread := w.takes(p)
			for range 5 {
				again := w.decides(r)
				if again.Earlier == nil || again.Earlier.Status != collaborate.StatusAccepted || again.Earlier.RequestID != id || len(again.Messages) > 0 {
					t.Fatalf("%+v, want what is under way, and nothing to do", again)
				}
			}
			w.happens(p.Sent(coordination.Context{}, id, thread, []string{"55"}, w.now))
			again := w.after(collaborate.SameRequest - time.Millisecond).decides(r)
			if again.Earlier == nil {
				t.Fatalf("%+v, want the result", again)
			}
			equal(t, "the result", *again.Earlier, collaborate.Earlier{RequestID: id, Content: p.Content, At: begin, Base: begin, Status: collaborate.StatusSent,
				ThreadID: thread, ThreadName: p.ThreadName, ChannelID: lobby, MessageIDs: []string{"55"}})
			later := w.after(time.Millisecond).decides(r)
			if later.Earlier != nil || later.Seed() == p.Seed() {
				t.Errorf("%+v, want another request", later)
			}
		})
	}
}

func TestOtherRequests(t *testing.T) {
	t.Parallel()
	w := begins(t).thread("7", lobby)
	w.asks(toEden("m"))
	for name, r := range map[string]collaborate.Request{
		"another message": toEden("n"), "another target": {From: "ruda", Target: "seum", Message: "m"}, "the other direction": {From: "eden", Target: "ruda", Message: "m"},
		"another topic": {From: "ruda", Target: "eden", Message: "m", ThreadName: "x"}, "another channel": {From: "ruda", Target: "eden", Message: "m", ChannelID: lab},
		"another thread": {From: "ruda", Target: "eden", Message: "m", ThreadID: "7"}, "a key": {From: "ruda", Target: "eden", Message: "m", Key: "k"},
	} {
		if p := w.decides(r); p.Earlier != nil {
			t.Errorf("%s is taken for the same request", name)
		}
	}
	w.asks(collaborate.Request{From: "ruda", Target: "eden", Message: "m", Key: "k"})
	w.refuses(collaborate.Request{From: "ruda", Target: "eden", Message: "something else", Key: "k"}, collaborate.CodeConflict, "idempotencyKey")
	if p := w.decides(collaborate.Request{From: "seum", Target: "eden", Message: "something else", Key: "k"}); p.Earlier != nil {
		t.Error("the key of one agent stands for that of another")
	}
}

func TestInvariant39_TenRequestsOfAPair(t *testing.T) {
	t.Parallel()
	w := begins(t)
	for i := range 10 {
		r := toEden(strconv.Itoa(i))
		if i%2 == 1 {
			r.From, r.Target = r.Target, r.From
		}
		w.asks(r)
		w.decides(r) // the same again: does not count
		w.refuses(collaborate.Request{From: "ruda", Target: "eden", Message: "m", ChannelID: private}, collaborate.CodeChannel, "channelId")
		w.after(10 * time.Second)
	}
	no := w.refuses(toEden("one more"), collaborate.CodePairLimit, "targetAgent")
	equal(t, "the reset", no.ResetAt, begin+(5*time.Minute).Milliseconds())
	if want := "10 times within 5 min, which is the limit; again in 4 min"; !strings.HasPrefix(no.Text, "warning: ") || !strings.Contains(no.Text, want) {
		t.Errorf("%q, want a warning with %q", no.Text, want)
	}
	e := no.Limited(coordination.Context{WorkSessionID: "ws_1"})
	d := e.Data.(collaborate.Limited)
	if e.Type != "collab.rate_limited" || e.AgentID != "ruda" || d.TargetAgent != "eden" || d.ResetAt != no.ResetAt || d.WorkSessionID != "ws_1" || d.EventRole == "" {
		t.Errorf("%+v, want the two agents and the reset", e)
	}
	w.refuses(collaborate.Request{From: "eden", Target: "ruda", Message: "the other way"}, collaborate.CodePairLimit, "targetAgent")
	w.decides(collaborate.Request{From: "ruda", Target: "seum", Message: "another pair"})
	w.now = no.ResetAt - 1
	w.refuses(toEden("one more"), collaborate.CodePairLimit, "targetAgent")
	w.now = no.ResetAt
	w.asks(toEden("one more"))
	next := w.refuses(toEden("and another one"), collaborate.CodePairLimit, "targetAgent")
	equal(t, "the next reset", next.ResetAt, begin+(5*time.Minute+10*time.Second).Milliseconds())
}

func TestALimitThatWasLowered(t *testing.T) {
	t.Parallel()
	w := begins(t)
	for i := range 5 {
		w.asks(toEden(strconv.Itoa(i)))
		w.after(time.Second)
	}
	w.s.Policy.PairLimit = 2
	no := w.refuses(toEden("one more"), collaborate.CodePairLimit, "targetAgent")
	equal(t, "the reset, when but one of the last two counts", no.ResetAt, begin+(5*time.Minute+3*time.Second).Milliseconds())
	w.now = no.ResetAt
	w.decides(toEden("one more"))
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	const reuse = 6 * time.Hour
	kept := toEden("first")
	for _, tt := range []struct {
		name   string
		change func(*world, *collaborate.Request, string) // after the first request, in its thread
		want   collaborate.Route
		thread string // "" for that of the first request, "7" for another one that there is
	}{
		{"soon", func(*world, *collaborate.Request, string) {}, collaborate.RouteReused, ""},
		{"before 6 h are over", func(w *world, _ *collaborate.Request, _ string) { w.after(reuse - time.Millisecond) }, collaborate.RouteReused, ""},
		{"after 6 h", func(w *world, _ *collaborate.Request, _ string) { w.after(reuse) }, collaborate.RouteNew, ""},
		{"6 h after the last use", func(w *world, _ *collaborate.Request, _ string) {
			w.after(5 * time.Hour).asks(toEden("second"))
			w.after(5 * time.Hour)
		}, collaborate.RouteReused, ""},
		{"another thread is named", func(_ *world, r *collaborate.Request, _ string) { r.ThreadID = "7" }, collaborate.RouteNamed, "7"},
		{"a thread that is archived is named", func(w *world, r *collaborate.Request, _ string) {
			w.change("7", func(p *collaborate.Place) { p.Archived = true })
			r.ThreadID = "7"
		}, collaborate.RouteNamed, "7"},
		{"the other direction", func(_ *world, r *collaborate.Request, _ string) { r.From, r.Target = "eden", "ruda" }, collaborate.RouteNew, ""},
		{"a topic", func(_ *world, r *collaborate.Request, _ string) { r.ThreadName = "x" }, collaborate.RouteNew, ""},
		{"the topic of another thread", func(w *world, r *collaborate.Request, _ string) {
			w.asks(collaborate.Request{From: "ruda", Target: "eden", Message: "about x", ThreadName: "X"})
			r.ThreadName = "x "
		}, collaborate.RouteReused, "9002"},
		{"another channel is named", func(_ *world, r *collaborate.Request, _ string) { r.ChannelID = lab }, collaborate.RouteNew, ""},
		{"its channel is named", func(_ *world, r *collaborate.Request, _ string) { r.ChannelID = lobby }, collaborate.RouteReused, ""},
		{"the session is in another channel", func(w *world, _ *collaborate.Request, _ string) { w.s.Session.ChannelID = lab }, collaborate.RouteReused, ""},
		{"its channel is not allowed any more", func(w *world, _ *collaborate.Request, _ string) {
			w.s.Policy.DefaultChannel, w.s.Session.ChannelID = lab, lab
		},
			collaborate.RouteNew, ""},
		{"archived", func(w *world, _ *collaborate.Request, thread string) {
			w.change(thread, func(p *collaborate.Place) { p.Archived = true })
		}, collaborate.RouteNew, ""},
		{"locked", func(w *world, _ *collaborate.Request, thread string) {
			w.change(thread, func(p *collaborate.Place) { p.Locked = true })
		}, collaborate.RouteNew, ""},
		{"deleted", func(w *world, _ *collaborate.Request, thread string) {
			w.change(thread, func(p *collaborate.Place) { p.ID = "deleted" })
		}, collaborate.RouteNew, ""},
		{"the session is in a thread with the target", func(w *world, _ *collaborate.Request, _ string) {
			w.s.Session.ChannelID, w.s.Session.Together = "7", []string{"ruda", "eden"}
		}, collaborate.RouteShared, "7"},
		{"the same, by the thread's id", func(w *world, r *collaborate.Request, _ string) {
			w.s.Session.ChannelID, w.s.Session.Together, r.ThreadID = "7", []string{"ruda", "eden"}, "7"
		}, collaborate.RouteShared, "7"},
		{"the same, but another thread is named", func(w *world, r *collaborate.Request, thread string) {
			w.s.Session.ChannelID, w.s.Session.Together, r.ThreadID = "7", []string{"ruda", "eden"}, thread
		}, collaborate.RouteNamed, ""},
		{"the session is in a thread without the target", func(w *world, _ *collaborate.Request, _ string) {
			w.s.Session.ChannelID, w.s.Session.Together = "7", []string{"ruda", "seum"}
		}, collaborate.RouteReused, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := begins(t).thread("7", lobby)
			_, first := w.asks(kept)
			r := toEden("once more")
			tt.change(w, &r, first)
			p := w.decides(r)
			want := tt.thread
			if want == "" && tt.want != collaborate.RouteNew {
				want = first
			}
			if p.Route != tt.want || p.ThreadID != want {
				t.Fatalf("%s in thread %q, want %s in %q", p.Route, p.ThreadID, tt.want, want)
			}
			gone := tt.name == "archived" || tt.name == "locked" || tt.name == "deleted"
			equal(t, "what was kept is forgotten", p.Forget, gone)
			forgets := ""
			if gone {
				forgets = p.ReuseKey
			}
			e := p.Requested(coordination.Context{}, "r")
			equal(t, "what the event says of it", e.Data.(collaborate.Requested).Forgets, forgets)
			w.happens(e)
			if _, kept := w.s.State.Threads["ruda:eden"]; kept == gone {
				t.Errorf("the thread is kept: %v", kept)
			}
		})
	}
}

// In a thread that both are in, asking again is a plain message: no new thread, no mention, nothing that waits for an answer.
func TestAskingInASharedThread(t *testing.T) {
	t.Parallel()
	w := begins(t).thread("7", lobby)
	w.s.Session = collaborate.Session{Key: "agent:ruda:discord:channel:7", ChannelID: "7", Together: []string{"ruda", "eden"}}
	p := w.decides(toEden("고마워"))
	if p.Route != collaborate.RouteShared || p.ThreadID != "7" || p.Tracked || len(p.Notify) != 0 || p.ReuseKey != "" {
		t.Errorf("%+v, want a plain message in the thread", p)
	}
	equal(t, "the message", p.Messages, []string{"고마워"})
	w.change("7", func(p *collaborate.Place) { p.ParentID = private })
	w.refuses(toEden("고마워"), collaborate.CodeChannel, "threadId")
}

// A thread in which nothing could be posted is used when the request is tried again.
func TestBug45_NoOrphanThreads(t *testing.T) {
	t.Parallel()
	w := begins(t)
	first := w.decides(toEden("m"))
	id, thread := w.takes(first)
	n := collaborate.After(collaborate.Attempt{Deed: collaborate.PostMessage, Route: first.Route, Failure: collaborate.Failure{Status: 503}, Failures: 4})
	w.happens(first.Failed(coordination.Context{}, id, thread, n))
	again := w.after(time.Minute).decides(toEden("m"))
	if again.Earlier != nil || again.Route != collaborate.RouteReused || again.ThreadID != thread {
		t.Fatalf("%+v, want it tried again in thread %s", again, thread)
	}
	equal(t, "what the nonces follow from", again.Seed(), first.Seed())
	if _, at := w.asks(toEden("m")); at != thread || w.opened != 1 {
		t.Errorf("in thread %s, %d were opened, want the first one", at, w.opened)
	}
}

func TestUnknownDeliveryIsNotResent(t *testing.T) {
	t.Parallel()
	w := begins(t)
	p := w.decides(toEden("m"))
	id, thread := w.takes(p)
	w.happens(p.Failed(coordination.Context{}, id, thread, collaborate.Blind()))
	again := w.after(time.Minute).decides(toEden("m"))
	if again.Earlier == nil || again.Earlier.Status != collaborate.StatusUnknown || again.Earlier.Code != collaborate.CodeUnknown {
		t.Errorf("%+v, want it unknown", again)
	}
}

// A thread from before that Discord does not know any more is forgotten, and the request goes to a new one.
func TestAReusedThreadThatIsGone(t *testing.T) {
	t.Parallel()
	w := begins(t)
	_, first := w.asks(toEden("m"))
	p := w.decides(toEden("n"))
	id, thread := w.takes(p)
	n := collaborate.After(collaborate.Attempt{Deed: collaborate.PostMessage, Route: p.Route, Failure: collaborate.Failure{Status: 404, Code: 10003}, Failures: 1})
	if !n.Redecide || thread != first {
		t.Fatalf("%+v in %s, want it decided again", n, thread)
	}
	w.happens(p.Failed(coordination.Context{}, id, thread, n))
	if _, kept := w.s.State.Threads["ruda:eden"]; kept {
		t.Error("the thread that is gone is still kept")
	}
	w.s.Policy.PairLimit = 2
	again := w.decides(toEden("n"))
	if again.Route != collaborate.RouteNew || again.Earlier != nil || !again.Again {
		t.Errorf("%+v, want a new thread", again)
	}
	w.takes(again)
	equal(t, "requests that count", len(w.s.State.Pairs["eden::ruda"]), 2)
}

func TestApply(t *testing.T) {
	t.Parallel()
	w := begins(t)
	w.asks(toEden("m"))
	before, _ := json.Marshal(w.s.State)
	for typ, data := range map[string]string{
		"a2a.send": `{}`, coordination.TypeA2ACollaborateRequested: `{"collabId":"req1","key":"x"}`, coordination.TypeThreadCreated: `{"threadId":""}`,
		coordination.TypeA2ACollaborateSent: `{"collabId":"other"}`, coordination.TypeA2ACollaborateFailed: `{"collabId":"other"}`,
		coordination.TypeDiscordDeliveryUnknown: ``,
	} {
		if typ == coordination.TypeA2ACollaborateRequested {
			p := w.decides(toEden("m"))
			data = `{"collabId":"req1","key":"` + p.Key + `"}`
		}
		means, err := w.s.State.Apply(typ, []byte(data), w.now)
		if after, _ := json.Marshal(w.s.State); means || err != nil || string(after) != string(before) {
			t.Errorf("%s %s: %v, %v, want nothing to change", typ, data, means, err)
		}
	}
	for _, typ := range []string{coordination.TypeA2ACollaborateRequested, coordination.TypeThreadCreated, coordination.TypeA2ACollaborateSent,
		coordination.TypeA2ACollaborateFailed, coordination.TypeDiscordDeliveryUnknown} {
		if _, err := w.s.State.Apply(typ, []byte(`{"collabId":7}`), w.now); err == nil {
			t.Errorf("%s with a number for an id: want an error", typ)
		}
	}
	w.after(8 * 24 * time.Hour).asks(collaborate.Request{From: "seum", Target: "eden", Message: "m"})
	if s := w.s.State; len(s.Requests) != 1 || len(s.Pairs) != 1 || len(s.Threads) != 1 {
		t.Errorf("%+v, want what is old forgotten", s)
	}
}
