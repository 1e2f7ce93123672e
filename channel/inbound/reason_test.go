package inbound_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
)

// row is a message, and what becomes of it.
type row struct {
	name  string
	set   setting
	says  func(l *fixture) string // the id of the message
	want  string                  // verdicts
	runs  string                  // agents
	holds route.Reason            // that it is there for
}

// said is a message of someone.
func said(author, place, text string) func(*fixture) string {
	return func(l *fixture) string { return l.says(author, place, text) }
}

// direct is a message of a person to ruda's bot.
func direct(l *fixture) string {
	in := l.message("bora", "500000000000000001", "안녕")
	in.Message.GuildID, in.AccountID = "", "acc-ruda"
	return l.hears(in)
}

func altered(change func(*config.Channel)) setting {
	return setting{alter: func(c *config.Config) { change(&c.Discord) }}
}

// rows are all reasons that there are.
func rows() []row {
	const others = "observer:other_mentioned"
	return []row{
		{"one is mentioned", setting{}, said("bora", general, "@eden 봐줘"), "eden=mentioned " + others, "eden", route.ByMention},
		{"two are mentioned", setting{}, said("bora", general, "@eden @ruda 봐줘"), "eden=mentioned/primary ruda=mentioned/secondary " + others, "eden ruda",
			route.OthersMentioned},
		{"no agent is mentioned", setting{}, said("bora", general, "안녕"), "ruda=default_agent observer:not_owner", "ruda", route.ByDefault},
		{"a binding", setting{alter: func(c *config.Config) {
			c.Bindings = append(c.Bindings, config.Binding{AgentID: "seum", Channel: "discord", AccountID: "*", PeerKind: "channel", PeerID: general})
		}}, said("bora", general, "안녕"), "seum=binding observer:not_owner", "seum", route.ByBinding},
		{"another agent's", setting{}, said("bora", general, "안녕하세요"), "ruda=default_agent observer:not_owner", "ruda", route.NotOwner},
		{"stranger's", setting{}, func(l *fixture) string {
			l.sight.blind("ruda", true)
			in := l.message("bora", general, "안녕")
			in.AccountID = "acc-eden"
			l.Handle(l.t.Context(), in)
			return in.Message.ID
		}, "observer:nobody_owns", "", route.NobodyOwns},
		{"mentions are wanted", altered(func(d *config.Channel) { d.RequireMention = true }), said("bora", general, "안녕"), "observer:mention_required", "",
			route.NeedsMention},
		{"another agent speaks", setting{}, said("eden", general, "다 했습니다"), "observer:sibling_message", "", route.SiblingSpeaks},
		{"a participant", setting{}, func(l *fixture) string {
			l.collaborates("c1", "ruda", "eden", 1)
			return l.says("bora", thread, "어때?")
		}, "eden=participant ruda=participant observer:not_participant", "eden ruda", route.ByParticipation},
		{"no participant", setting{}, func(l *fixture) string {
			l.collaborates("c1", "ruda", "eden", 1)
			return l.says("eden", thread, "했어요")
		}, "ruda=participant observer:not_participant", "ruda", route.NotParticipant},
		{"an unknown thread", setting{}, said("bora", thread, "어때?"), "observer:mention_only", "", route.MentionOnly},
		{"the rest of a text", setting{}, func(l *fixture) string { return l.tells("eden", general, "@ruda 첫째", "둘째")[1] }, "dropped:continuation", "",
			route.Continuation},
		{"a reminder", setting{}, func(l *fixture) string {
			l.collaborates("c1", "ruda", "eden", 1)
			return l.says("ruda", thread, "⚠️ @bora 이든이 15분째 무응답입니다. 확인 필요.")
		}, "observer:system_text", "", route.SystemText},
		{"too fast", setting{}, func(l *fixture) (id string) {
			l.collaborates("c1", "ruda", "eden", 1)
			for range 7 {
				id = l.after(time.Second).says("ruda", thread, "네, 그리고")
			}
			return id
		}, "observer:not_participant observer:thread_suspended", "", route.Suspended},
		{"too much of a pair", setting{}, func(l *fixture) (id string) {
			for i := range 7 {
				place := "80000000000000010" + string(rune('0'+i))
				id = l.after(time.Second).says("ruda", place, "@eden 봐줘")
			}
			return id
		}, others + " observer:pair_limited", "", route.PairLimited},
		{"a chain that is too long", setting{}, func(l *fixture) string {
			l.collaborates("c1", "ruda", "eden", 21)
			return l.says("eden", thread, "했어요")
		}, "observer:hop_limit observer:not_participant", "", route.HopLimit},
		{"an agent that may not", setting{allowed: func(_ *config.Config, from, to string) bool { return from != "ruda" || to != "eden" }},
			said("ruda", general, "@eden @seum"), "seum=mentioned " + others + " observer:a2a_not_allowed", "seum", route.AgentNotAllowed},
		{"no author", setting{}, said("absent", general, "@eden"), "dropped:author_missing", "", route.NoAuthor},
		{"channels are off", altered(func(d *config.Channel) { d.GroupPolicy = "disabled" }), said("bora", general, "@eden"), "dropped:channels_disabled", "",
			route.ChannelsDisabled},
		{"another guild", altered(func(d *config.Channel) { d.Collaboration.AllowedGuilds = []string{"1"} }), said("bora", general, "@eden"),
			"dropped:guild_not_allowed", "", route.GuildNotAllowed},
		{"another channel", altered(func(d *config.Channel) { d.Guilds = []config.Guild{{ID: guild, Channels: []string{"1"}}} }),
			said("bora", general, "@eden"), "dropped:channel_not_allowed", "", route.ChannelNotAllowed},
		{"direct, off", altered(func(d *config.Channel) { d.DMPolicy = "disabled" }), direct, "dropped:dm_disabled", "", route.DirectDisabled},
		{"direct, not listed", altered(func(d *config.Channel) { d.DMPolicy = "allowlist" }), direct, "dropped:dm_not_allowed", "", route.DirectNotAllowed},
		{"direct, not paired", setting{}, direct, "dropped:dm_not_paired", "", route.DirectNotPaired},
		{"direct", altered(func(d *config.Channel) { d.DMPolicy = "open" }), direct, "ruda=binding", "ruda", ""},
		{"a thread of reports", setting{}, func(l *fixture) string {
			l.append(coordination.WorkStream("report/1"), coordination.TypeThreadCreated, "ruda", coordination.Thread{Context: observing(), ThreadID: thread,
				ChannelID: general, GuildID: guild, Kind: "report", EffectID: "report/1", ReportOf: "conv-1"})
			return l.says("bora", thread, "@eden")
		}, "dropped:sink_thread", "", route.SinkThread},
		{"a report", setting{}, func(l *fixture) string {
			in := l.message("ruda", general, "@eden a2a.send: 안녕")
			l.append(coordination.WorkStream("report/1"), coordination.TypeDiscordSent, "ruda", coordination.DiscordOutbound{Context: observing(),
				EffectID: "report/1", ChannelID: general, MessageID: in.Message.ID, AccountID: "acc-ruda", Purpose: "report"})
			return l.hears(in)
		}, "dropped:sink_post", "", route.SinkPost},
		{"Discord itself", setting{}, func(l *fixture) string {
			in := l.message("bora", general, "@eden")
			in.Message.Command = true
			return l.hears(in)
		}, "dropped:discord_notice", "", route.DiscordNotice},
		{"the answer to a form", setting{}, func(l *fixture) string {
			in := l.message("bora", general, "@eden")
			in.Message.Interaction = true
			return l.hears(in)
		}, "dropped:interaction", "", route.Interaction},
		{"nothing", setting{}, said("bora", general, " \n"), "dropped:empty", "", route.EmptyText},
		{"a file", setting{}, func(l *fixture) string {
			in := l.message("bora", general, "")
			in.Message.Attachments = []channel.Attachment{{Name: "log.txt", Type: "text/plain", URL: "https://cdn.test/log.txt", Size: 12}}
			return l.hears(in)
		}, "ruda=default_agent observer:not_owner", "ruda", ""},
		{"a foreign bot", setting{}, said("foreign", general, "@eden"), "dropped:foreign_bot", "", route.ForeignBot},
		{"a webhook", setting{}, said("hook", general, "@eden"), "dropped:foreign_bot", "", ""},
		{"a foreign bot that is heard", altered(func(d *config.Channel) { d.AllowBots = "mentions" }), said("foreign", general, "@eden"),
			"eden=mentioned " + others, "eden", ""},
		{"a person who may not", altered(func(d *config.Channel) {
			d.Guilds = []config.Guild{{ID: guild, Users: []string{userID("bora")}}}
		}),
			said("stranger", general, "@eden"), "dropped:author_not_allowed", "", route.AuthorNotAllowed},
		{"its own", setting{agents: []string{"ruda"}}, said("ruda", general, "안녕"), "dropped:own_message", "", route.OwnMessage},
		{"no bot", setting{}, func(l *fixture) string {
			in := l.message("bora", general, "안녕")
			l.sight.mu.Lock()
			l.sight.bots = nil
			l.sight.mu.Unlock()
			return l.hears(in)
		}, "dropped:no_bot", "", route.NoBot},
		{"a defect", setting{logs: &buffer{}}, func(l *fixture) string {
			l.sight.broken(true)
			return l.says("bora", general, "@eden")
		}, "dropped:internal_error", "", route.InternalError},
	}
}

// Every reason, through the log: each handler of a message runs, no one else does, and the reason is in the log.
func TestEveryReason(t *testing.T) {
	t.Parallel()
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t, r.set)
			id := r.says(l)
			l.want(id, r.want)
			if got := l.runsOf(id); got != r.runs {
				t.Errorf("%q run, want %q", got, r.runs)
			}
			for _, d := range l.told(id) {
				wantRun := ""
				if d.Decision == string(route.Handler) {
					wantRun = "discord:" + id + ":"
				}
				if !strings.HasPrefix(d.RunID, wantRun) || (d.RunID == "") != (wantRun == "") || d.EventRole != coordination.RoleObservability {
					t.Errorf("%s for %s tells of run %q with role %s, want a run that begins with %q", d.Decision, d.Reason, d.RunID, d.EventRole, wantRun)
				}
			}
		})
	}
}

// A reason that is added has its row here.
func TestAllReasonsHaveARow(t *testing.T) {
	t.Parallel()
	have, want := map[route.Reason]bool{}, map[route.Reason]bool{}
	for _, r := range rows() {
		if r.holds != "" {
			have[r.holds] = strings.Contains(r.want, string(r.holds))
		}
	}
	for _, reason := range []route.Reason{
		route.ByMention, route.ByParticipation, route.ByBinding, route.ByDefault,
		route.OthersMentioned, route.NotParticipant, route.MentionOnly, route.NotOwner, route.NobodyOwns, route.NeedsMention, route.SiblingSpeaks,
		route.SystemText, route.Suspended, route.PairLimited, route.HopLimit, route.AgentNotAllowed,
		route.NoAuthor, route.ChannelsDisabled, route.GuildNotAllowed, route.ChannelNotAllowed, route.DirectDisabled, route.DirectNotAllowed,
		route.DirectNotPaired, route.SinkThread, route.SinkPost, route.DiscordNotice, route.Interaction, route.EmptyText, route.ForeignBot, route.AuthorNotAllowed,
		route.OwnMessage, route.NoBot, route.InternalError, route.Continuation,
	} {
		want[reason] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(have))); diff != "" {
		t.Errorf("reasons with a row (-want +got):\n%s", diff)
	}
	for reason, holds := range have {
		if !holds {
			t.Errorf("the row of %s does not want it", reason)
		}
	}
}
