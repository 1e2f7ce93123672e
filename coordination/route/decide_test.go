package route_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
)

// Every row of the decision, by what is different from a plain message of a person in a channel.
func TestDecide(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, author, place, text string
		change                    func(*world, *route.Message)
		want                      string
	}{
		{"one is mentioned", "human", channel, "@ruda 이든한테 물어봐줘", nil, "ruda=mentioned observer:other_mentioned"},
		{"two are mentioned", "human", channel, "@eden @ruda 같이 봐줘", nil, "eden=mentioned/primary ruda=mentioned/secondary observer:other_mentioned"},
		{"three, one of them twice", "human", channel, "@seum @eden @!seum @ruda", nil,
			"eden=mentioned/secondary ruda=mentioned/secondary seum=mentioned/primary observer:other_mentioned"},
		{"no mention", "human", channel, "프론트엔드 진행 어때?", nil, "ruda=default_agent observer:not_owner"},
		{"only people are mentioned", "human", channel, "@human 보세요 @stranger", nil, "ruda=default_agent observer:not_owner"},
		{"roles and everyone", "human", channel, "<@&1002> @everyone @here <#1002> <:a:1002>", nil, "ruda=default_agent observer:not_owner"},
		{"quoted", "human", channel, "> @eden 봐줘\n네", nil, "ruda=default_agent observer:not_owner"},
		{"a code block", "human", channel, "```\n@eden\n``` 이게 뭐지", nil, "ruda=default_agent observer:not_owner"},
		{"code", "human", channel, "`@eden` 이게 뭐지", nil, "ruda=default_agent observer:not_owner"},
		{"what it replies to", "human", channel, "그래서요?", func(_ *world, m *route.Message) { m.Names = map[string]string{userID("eden"): "eden"} },
			"ruda=default_agent observer:not_owner"},
		{"a binding", "human", channel, "안녕", func(w *world, _ *route.Message) {
			w.s.Bindings = []route.Binding{{Agent: "seum", Channel: "discord", Account: "*", Peer: route.Peer{Kind: "channel", ID: channel}}}
		}, "seum=binding observer:not_owner"},
		{"a binding of an agent that is not there", "human", channel, "안녕", func(w *world, _ *route.Message) {
			w.s.Bindings = []route.Binding{{Agent: "ghost", Channel: "discord", Account: "*", Guild: guild}}
		}, "ruda=default_agent observer:not_owner"},
		{"the default agent is absent", "human", channel, "안녕", func(w *world, _ *route.Message) { w.s.Bots[0].Blind = true }, "observer:nobody_owns"},
		{"mentions required", "human", channel, "안녕", func(w *world, _ *route.Message) { w.s.Policy.RequireMention = true }, "observer:mention_required"},
		{"who is mentioned is absent", "human", channel, "@eden", func(w *world, _ *route.Message) {
			w.s.Bots[1].Blind = true
		}, "observer:other_mentioned"},

		{"an agent speaks in a channel", "eden", channel, "끝났습니다", nil, "dropped:own_message observer:sibling_message"},
		{"an agent calls another", "eden", channel, "@seum 봐줘", nil, "seum=mentioned dropped:own_message observer:other_mentioned"},
		{"an agent mentions itself", "eden", channel, "저는 @eden 입니다", nil, "dropped:own_message observer:sibling_message"},

		{"thread, not a participant", "human", thread, "안녕", nil, "observer:not_participant"},
		{"thread, mentioned", "human", thread, "@eden 안녕", nil, "eden=mentioned observer:not_participant"},
		{"thread, participants", "human", thread, "안녕", enrolled, "eden=participant ruda=participant observer:not_participant"},
		{"thread, an agent to the other", "ruda", thread, "고마워, 한 가지 더", enrolled, "eden=participant dropped:own_message observer:not_participant"},
		{"thread, another one is mentioned", "ruda", thread, "@seum 도 확인해봐", enrolled, "eden=participant seum=mentioned/primary dropped:own_message observer:not_participant"},
		{"thread, a person mentions another one", "human", thread, "@seum 도 확인해봐", enrolled,
			"eden=participant ruda=participant seum=mentioned/primary observer:not_participant"},
		{"thread, two others are mentioned", "human", thread, "@seum @dajim 도 확인해봐", enrolled,
			"dajim=mentioned/secondary eden=participant ruda=participant seum=mentioned/primary"},
		{"thread, a participant is mentioned", "human", thread, "@eden 확인해봐", enrolled, "eden=mentioned/primary ruda=participant observer:not_participant"},
		{"thread, the other participant is mentioned", "ruda", thread, "@eden 확인해봐", enrolled, "eden=mentioned dropped:own_message observer:not_participant"},
		{"thread, mentions alone count", "ruda", thread, "@seum 도 확인해봐", func(w *world, m *route.Message) {
			enrolled(w, m)
			w.s.Policy.ThreadMention = route.Mentioned
		}, "seum=mentioned dropped:own_message observer:other_mentioned"},
		{"thread, who is mentioned is absent", "human", thread, "@eden 안녕", func(w *world, m *route.Message) {
			enrolled(w, m)
			w.s.Bots[1].Blind = true
		}, "ruda=participant observer:not_participant"},
		{"thread, a participant is absent", "human", thread, "안녕", func(w *world, m *route.Message) {
			enrolled(w, m)
			w.s.Bots[1].Blind = true
		}, "ruda=participant observer:not_participant"},
		{"thread, people are mentioned", "ruda", thread, "@human 확인 부탁해요", enrolled, "eden=participant dropped:own_message observer:not_participant"},
		{"thread, who takes part is unknown", "human", thread, "안녕", func(w *world, _ *route.Message) { w.s.Participants = nil }, "observer:mention_only"},
		{"thread, unknown, mentioned", "human", thread, "@eden", func(w *world, _ *route.Message) { w.s.Participants = nil },
			"eden=mentioned observer:other_mentioned"},
		{"a reminder", "ruda", thread, "[리마인더] @eden 위 요청 확인 부탁해요.", system, "eden=mentioned dropped:own_message observer:system_text"},
		{"an escalation", "ruda", thread, "⚠️ @human 이든이 15분째 무응답입니다. 확인 필요.", system, "dropped:own_message observer:system_text"},
		{"openclawd in a channel", "ruda", channel, "다시 시작했습니다", system, "dropped:own_message observer:system_text"},

		{"a chain as long as it may be", "ruda", thread, "@eden", hops(20), "eden=mentioned dropped:own_message observer:not_participant"},
		{"a chain that is too long", "ruda", thread, "@eden", hops(21), "dropped:own_message observer:hop_limit observer:not_participant"},
		{"a chain without bound", "ruda", thread, "@eden", func(w *world, m *route.Message) {
			hops(1000)(w, m)
			w.s.Policy.MaxHops = 0
		}, "eden=mentioned dropped:own_message observer:not_participant"},
		{"an agent that may not", "ruda", channel, "@eden @seum", onlySeum, "seum=mentioned dropped:own_message observer:a2a_not_allowed observer:other_mentioned"},
		{"nor in a thread", "ruda", thread, "@eden @seum", onlySeum, "seum=mentioned dropped:own_message observer:a2a_not_allowed observer:not_participant"},
		{"a person may", "human", channel, "@eden", onlySeum, "eden=mentioned observer:other_mentioned"},
		{"who takes part was let in", "ruda", thread, "@eden", func(w *world, m *route.Message) {
			enrolled(w, m)
			onlySeum(w, m)
		}, "eden=mentioned dropped:own_message observer:not_participant"},
		{"a reminder of an agent that may not", "ruda", thread, "@eden", func(w *world, m *route.Message) {
			onlySeum(w, m)
			m.System = true
		}, "eden=mentioned dropped:own_message observer:system_text"},
		{"people begin a chain", "human", thread, "@eden", hops(21), "eden=mentioned observer:not_participant"},

		{"no author", "none", channel, "@eden", nil, "dropped:author_missing"},
		{"channels are off", "human", channel, "@eden", func(w *world, _ *route.Message) {
			w.s.Policy.Groups = route.Disabled
		}, "dropped:channels_disabled"},
		{"another guild", "human", channel, "@eden", func(w *world, _ *route.Message) { w.s.Policy.Guilds = []string{"1"} }, "dropped:guild_not_allowed"},
		{"another channel", "human", channel, "@eden", func(w *world, _ *route.Message) {
			w.s.Policy.Channels = []string{"1"}
		}, "dropped:channel_not_allowed"},
		{"no channel is listed", "human", channel, "@eden", func(w *world, _ *route.Message) {
			w.s.Policy.Groups = route.Allowlist
		}, "dropped:channel_not_allowed"},
		{"the parent is listed", "human", thread, "@eden", func(w *world, _ *route.Message) { w.s.Policy.Channels = []string{channel} },
			"eden=mentioned observer:not_participant"},
		{"the thread is listed", "human", thread, "@eden", func(w *world, _ *route.Message) { w.s.Policy.Channels = []string{thread} },
			"eden=mentioned observer:not_participant"},
		{"a sink thread", "human", "700000000000000099", "@eden", nil, "dropped:sink_thread"},
		{"a sink thread by its name", "human", thread, "@eden", func(_ *world, m *route.Message) {
			m.ThreadName = "[리포트] a2a.send · 12:00"
		}, "dropped:sink_thread"},
		{"a report", "reporter", channel, "@eden", nil, "dropped:sink_post"},
		{"Discord itself", "human", channel, "@eden", func(_ *world, m *route.Message) { m.Notice = true }, "dropped:discord_notice"},
		{"a command", "human", channel, "@eden", func(_ *world, m *route.Message) { m.Interaction = true }, "dropped:interaction"},
		{"nothing", "human", channel, " \n", nil, "dropped:empty"},
		{"a picture", "human", channel, "", func(_ *world, m *route.Message) { m.Attachments = 1 }, "ruda=default_agent observer:not_owner"},
		{"a person who may not", "stranger", channel, "@eden", restricted, "dropped:author_not_allowed"},
		{"a person who may", "human", channel, "@eden", restricted, "eden=mentioned observer:other_mentioned"},
		{"a person by their role", "stranger", channel, "@eden", func(w *world, m *route.Message) {
			restricted(w, m)
			m.Author.Roles = []string{"dev"}
		}, "eden=mentioned observer:other_mentioned"},
		{"agents are no people", "eden", channel, "@seum", restricted, "seum=mentioned dropped:own_message observer:other_mentioned"},

		{"a foreign bot", "foreign", channel, "@eden", nil, "dropped:foreign_bot"},
		{"a webhook", "human", channel, "@eden", func(_ *world, m *route.Message) { m.Author.Webhook = true }, "dropped:foreign_bot"},
		{"a foreign bot, remembered", "foreign", channel, "@eden", func(w *world, _ *route.Message) {
			w.s.Policy.RecordBots = true
		}, "observer:foreign_bot"},
		{"a foreign bot that may mention", "foreign", channel, "@eden", func(w *world, _ *route.Message) { w.s.Policy.ForeignBots = route.ForeignMentions },
			"eden=mentioned observer:other_mentioned"},
		{"and does not", "foreign", channel, "안녕", func(w *world, _ *route.Message) {
			w.s.Policy.ForeignBots = route.ForeignMentions
		}, "dropped:foreign_bot"},
		{"a foreign bot that may speak", "foreign", channel, "안녕", func(w *world, _ *route.Message) { w.s.Policy.ForeignBots = route.ForeignYes },
			"ruda=default_agent observer:not_owner"},

		{"direct", "human", channel, "안녕", direct("acc-eden", route.Open), "eden=default_agent"},
		{"direct, bound to another", "human", channel, "안녕", func(w *world, m *route.Message) {
			direct("acc-eden", route.Open)(w, m)
			w.s.Bindings = []route.Binding{{Agent: "seum", Channel: "discord", Account: "acc-eden", Peer: route.Peer{Kind: "direct", ID: userID("human")}}}
		}, "seum=binding"},
		{"direct, bound to one that is not there", "human", channel, "안녕", func(w *world, m *route.Message) {
			direct("acc-eden", route.Open)(w, m)
			w.s.Bindings = []route.Binding{{Agent: "ghost", Channel: "discord", Account: "acc-eden"}}
		}, "eden=default_agent"},
		{"direct, not paired", "human", channel, "안녕", direct("acc-eden", route.Pairing), "dropped:dm_not_paired"},
		{"direct, paired", "human", channel, "안녕", func(w *world, m *route.Message) {
			direct("acc-eden", route.Pairing)(w, m)
			w.s.Policy.AllowFrom = []string{userID("human")}
		}, "eden=default_agent"},
		{"direct, not listed", "human", channel, "안녕", direct("acc-eden", route.Allowlist), "dropped:dm_not_allowed"},
		{"direct, anybody", "human", channel, "안녕", func(w *world, m *route.Message) {
			direct("acc-eden", route.Allowlist)(w, m)
			w.s.Policy.AllowFrom = []string{"*"}
		}, "eden=default_agent"},
		{"direct, off", "human", channel, "안녕", direct("acc-eden", route.Disabled), "dropped:dm_disabled"},
		{"direct, no such bot", "human", channel, "안녕", direct("acc-ghost", route.Open), ""},
		{"direct, its own", "eden", channel, "안녕", direct("acc-eden", route.Open), "dropped:own_message"},
		{"direct, a bot", "foreign", channel, "안녕", func(w *world, m *route.Message) {
			direct("acc-eden", route.Open)(w, m)
			w.s.Policy.ForeignBots = route.ForeignYes
		}, "dropped:foreign_bot"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := discord(t)
			m := w.message(tt.author, tt.place, tt.text)
			if tt.change != nil {
				tt.change(w, &m)
			}
			w.want(w.hears(m), tt.want)
		})
	}
}

func enrolled(w *world, _ *route.Message) { w.collaborates("ruda", "eden") }

func system(w *world, m *route.Message) {
	enrolled(w, m)
	m.System = true
}

// onlySeum is the only agent that others may have run.
func onlySeum(w *world, _ *route.Message) {
	w.s.Policy.Allowed = func(_, to string) bool { return to == "seum" }
}

// hops is a message that so much came before.
func hops(n int) func(*world, *route.Message) {
	return func(w *world, _ *route.Message) { w.s.Hop, w.s.Policy.MaxHops = n, 20 }
}

func restricted(w *world, _ *route.Message) {
	w.s.Policy.Users, w.s.Policy.Roles = []string{userID("human")}, []string{"dev"}
}

func direct(account, who string) func(*world, *route.Message) {
	return func(w *world, m *route.Message) {
		m.GuildID, m.AccountID, w.s.Policy.Direct = "", account, who
	}
}

func TestHints(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want map[string][]string
	}{
		{"@ruda @eden 이거 같이 봐줘", map[string][]string{
			"ruda": {"당신이 이 요청의 주 담당입니다. 리드하여 응답하세요."},
			"eden": {"당신은 보조 역할입니다. 루다의 응답이 있으면 참고하여 보완 의견을 제시하세요."},
		}},
		{"@ruda 이거 봐줘", map[string][]string{"ruda": nil}},
		{"@ruda 이든한테 물어봐줘", map[string][]string{"ruda": {
			`메시지에 이든이 언급되었습니다. 이든은 이 메시지를 처리하지 않으므로, 전할 내용이 있으면 collaborate(targetAgent: "eden") 도구를 사용하세요.`}}},
		{"@eden 루다에게 전해줘", map[string][]string{"eden": {
			`메시지에 루다가 언급되었습니다. 루다는 이 메시지를 처리하지 않으므로, 전할 내용이 있으면 collaborate(targetAgent: "ruda") 도구를 사용하세요.`}}},
		{"@ruda 루다한테 물어봐줘", map[string][]string{"ruda": nil}},
		{"@ruda @eden 이든한테 물어봐줘", map[string][]string{
			"ruda": {"당신이 이 요청의 주 담당입니다. 리드하여 응답하세요."},
			"eden": {"당신은 보조 역할입니다. 루다의 응답이 있으면 참고하여 보완 의견을 제시하세요."},
		}},
	} {
		w := discord(t)
		d := w.says("human", channel, tt.text)
		got := map[string][]string{}
		for _, v := range d.Verdicts {
			if v.Mode == route.Handler {
				got[v.Agent] = v.Hints
			} else if v.Hints != nil {
				t.Errorf("%s: %s does not handle it and is told %v", tt.text, v.Agent, v.Hints)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.text, diff)
		}
	}

	w := discord(t)
	m := w.message("human", channel, "@eden 한테 물어봐줘")
	direct("acc-ruda", route.Open)(w, &m)
	if v, _ := first(w.hears(m)); len(v.Hints) != 1 || !strings.Contains(v.Hints[0], `targetAgent: "eden"`) {
		t.Errorf("ruda is told %q where a direct message mentions eden", v.Hints)
	}
}

func first(d route.Decision) (route.Verdict, bool) {
	if len(d.Verdicts) == 0 {
		return route.Verdict{}, false
	}
	return d.Verdicts[0], true
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, place, text string
		change            func(*world, *route.Message)
		want              []route.Warning
	}{
		{"nothing", channel, "안녕", nil, nil},
		{"participants", thread, "안녕", func(w *world, _ *route.Message) { w.s.Participants = nil }, []route.Warning{route.WarnParticipantsUnknown}},
		{"owner", channel, "안녕", func(w *world, _ *route.Message) {
			w.s.Bots[1].Blind = true
			w.s.Bindings = []route.Binding{{Agent: "eden", Channel: "discord", Account: "*"}}
		}, []route.Warning{route.WarnOwnerAbsent}},
		{"no owner", channel, "안녕", func(w *world, _ *route.Message) { w.s.Policy.DefaultAgent = "" }, []route.Warning{route.WarnNobodyOwns}},
		{"mentioned", channel, "@eden @seum", func(w *world, _ *route.Message) { w.s.Bots[1].Blind, w.s.Bots[2].Blind = true, true },
			[]route.Warning{route.WarnMentionedAbsent}},
		{"bot", channel, "안녕", direct("acc-ghost", route.Open), []route.Warning{route.WarnNoBot}},
	} {
		w := discord(t)
		m := w.message("human", tt.place, tt.text)
		if tt.change != nil {
			tt.change(w, &m)
		}
		if d := w.hears(m); !slices.Equal(d.Warnings, tt.want) {
			t.Errorf("%s: warned of %v, want %v", tt.name, d.Warnings, tt.want)
		}
	}
}

// An agent with two bots is one agent: one verdict, by the bot that is mentioned.
func TestAnAgentWithTwoBots(t *testing.T) {
	t.Parallel()
	w := discord(t)
	w.s.Bots = append(w.s.Bots, route.Bot{UserID: "1099", AccountID: "zzz", Agent: "eden", Name: "이든"})
	d := w.says("human", channel, "<@1099> 안녕")
	w.want(d, "eden=mentioned observer:other_mentioned")
	if v, _ := d.Of("eden"); len(d.Verdicts) != 4 || v.BotUserID != "1099" || v.AccountID != "zzz" {
		t.Errorf("%d verdicts, eden answers by %s", len(d.Verdicts), v.BotUserID)
	}
	d = w.says("human", channel, "<@1099> @eden 안녕")
	if v, _ := d.Of("eden"); len(d.Mentioned) != 1 || v.Order != "" || v.BotUserID != userID("eden") {
		t.Errorf("both bots of eden are mentioned: %v, %+v", d.Mentioned, v)
	}
}

// An edited message is what it was, even where its text says something else now.
func TestEditsAndDuplicates(t *testing.T) {
	t.Parallel()
	w := discord(t)
	m := w.message("human", channel, "@eden @ruda 안녕")
	before := w.hears(m)
	m.Text = mentions("@seum 안녕")
	w.after(time.Minute)
	again := w.hears(m)
	if short(before) != short(again) || !again.Again || len(w.events) != 0 || len(again.Enrol) != 0 {
		t.Errorf("%s is %s when it is edited, with %d events", short(before), short(again), len(w.events))
	}
}

// A message that no agent's bot sees, and one that could not be decided about, are in the log with their reasons, and are not decided about again.
func TestUnaddressedMessageIsRecorded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, reason string
		events       func(w *world, m route.Message) []route.Event
	}{
		{"no bot", "no_bot", func(w *world, m route.Message) []route.Event {
			w.s.Bots = nil
			d := w.hears(m)
			return d.Events()
		}},
		{"undecided", "internal_error", func(w *world, m route.Message) []route.Event {
			events := route.Undecided(&m)
			w.fold(events[0])
			return events
		}},
	} {
		w := discord(t)
		m := w.message("human", thread, "@eden")
		events := tt.events(w, m)
		if len(events) != 1 {
			t.Fatalf("%s: %d events, want one", tt.name, len(events))
		}
		d, ok := inbound(events[0])
		if !ok || events[0].Type != coordination.TypeDiscordInboundDropped || events[0].AgentID != "" || d.Reason != tt.reason || d.MessageID != m.ID ||
			d.AuthorName != "human" || len(d.Agents) != 0 || events[0].At != m.At {
			t.Errorf("%s: %+v, want %s without agents", tt.name, events[0], tt.reason)
		}
		w.s.Bots = team()
		if d := w.hears(m); !d.Again || len(w.events) != 0 {
			t.Errorf("%s: it is decided about again: %s", tt.name, short(d))
		}
	}
}

// What the chain is at, and which run was asked for, stands in the event.
func TestEventsTellOfRunAndHop(t *testing.T) {
	t.Parallel()
	w := discord(t)
	s := w.s
	s.Message, s.Hop = w.message("ruda", thread, "@eden"), 3
	d := route.Decide(&s)
	for i := range d.Verdicts {
		d.Verdicts[i].RunID = "run-" + d.Verdicts[i].Agent
	}
	for _, e := range d.Events() {
		data, ok := inbound(e)
		if !ok {
			continue
		}
		want := ""
		if e.Type == coordination.TypeDiscordInboundHandled {
			want = "run-eden"
		}
		if data.Hop != 3 || data.RunID != want {
			t.Errorf("%s of %s has hop %d and run %q, want 3 and %q", e.Type, e.AgentID, data.Hop, data.RunID, want)
		}
	}
}
