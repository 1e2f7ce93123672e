package monitor_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/monitor"
)

type threadPage struct {
	Threads    []monitor.ThreadAnswer
	Count      int
	NextCursor *string
}

// A thread is listed with who takes part in it, also who does no more, and says whether bots are held there.
func TestDiscordThreads(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.configured(t)
	b.collaborated(t)
	b.heard(t, said("1404000000000000030", "채널에서", 0))
	b.happens(t, coordination.ThreadStream(threadID), coordination.TypeThreadSuspended, "", 2, coordination.Thread{ThreadID: threadID, Reason: "bot_rate",
		UntilMs: int64(at(7))})
	b.happens(t, coordination.ThreadStream(threadID), coordination.TypeThreadParticipantExpired, "ruda", 3, coordination.ThreadParticipant{
		ThreadID: threadID, AgentID: "ruda", BotUserID: rudaBot, Reason: "silence"})
	newContract(t, b).check(t, http.MethodGet, "/api/discord/threads?kind=all", http.StatusOK)
	page := get[threadPage](t, b, "/api/discord/threads", http.StatusOK)
	until, left := int64(at(7)), int64(at(3))
	last := page.Threads[0].LastAt
	want := []monitor.ThreadAnswer{{Channel: "discord", ID: threadID, Kind: "thread", Use: "collab", GuildID: guildID, ChannelID: channelID, Name: "[협업] 루다 → 이든 · 리뷰",
		LastAt: last, SuspendedUntil: &until, SuspendedFor: "bot_rate", Link: "https://discord.com/channels/" + guildID + "/" + threadID,
		Participants: []monitor.ParticipantAnswer{
			{AgentID: "ruda", AgentName: "루다", BotUserID: rudaBot, Reason: "collaborate", Since: int64(at(1)), Left: &left, LastAt: last},
			{AgentID: "eden", AgentName: "이든", BotUserID: edenBot, Reason: "collaborate", Since: int64(at(1)), LastAt: last}}}}
	if diff := cmp.Diff(want, page.Threads); diff != "" || last < int64(at(1)) {
		t.Errorf("-want +got:\n%s", diff)
	}
	all := get[threadPage](t, b, "/api/discord/threads?kind=all&limit=1", http.StatusOK)
	if all.Count != 1 || all.NextCursor == nil || all.Threads[0].ID != threadID {
		t.Fatalf("the first page is %+v, want the thread and a cursor", all)
	}
	rest := get[threadPage](t, b, "/api/discord/threads?kind=all&limit=1&cursor="+*all.NextCursor, http.StatusOK)
	if rest.Count != 1 || rest.NextCursor != nil || rest.Threads[0].ID != channelID || rest.Threads[0].Kind != "channel" || len(rest.Threads[0].Participants) != 0 {
		t.Errorf("the second page is %+v, want the channel alone", rest)
	}
	if status := get[monitor.Status](t, b, "/api/status", http.StatusOK).Discord; status.Suspended != 1 || status.Undelivered != 0 || status.OpenCollaborations != 1 || status.Bots != 0 {
		t.Errorf("status says %+v, want one place that is suspended and one open request", status)
	}
	b.now.Store(int64(at(8)))
	if got := get[threadPage](t, b, "/api/discord/threads", http.StatusOK).Threads[0]; got.SuspendedUntil != nil || got.SuspendedFor != "" {
		t.Errorf("after its end: %+v, want no suspension", got)
	}
	if status := get[monitor.Status](t, b, "/api/status", http.StatusOK).Discord; status.Suspended != 0 {
		t.Errorf("after its end status says %+v", status)
	}
	if got := get[threadPage](t, b, "/api/discord/threads?agent=SEUM", http.StatusOK); got.Count != 0 {
		t.Errorf("of seum: %+v, want none", got)
	}
}

// Pages of threads follow each other without a gap, also where someone has spoken in several at once.
func TestDiscordThreadsPageByPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.configured(t)
	want := []string{"1400000000000000107", "1400000000000000106", "1400000000000000105", "1400000000000000104"}
	for i, thread := range want {
		m := said("140400000000000004"+strconv.Itoa(i), "모두에게", 1)
		m.ThreadID = thread
		b.heard(t, m)
	}
	var got []string
	for path := "/api/discord/threads?limit=1"; path != ""; {
		page := get[threadPage](t, b, path, http.StatusOK)
		for _, one := range page.Threads {
			got = append(got, one.ID)
		}
		if path = ""; page.NextCursor != nil {
			path = "/api/discord/threads?limit=1&cursor=" + *page.NextCursor
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("threads, page by page (-want +got):\n%s", diff)
	}
}

// What was observed is listed until its agent is told of it, or it is too old.
func TestDiscordObserved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.configured(t)
	b.heard(t, said("1404000000000000040", "<@"+edenBot+"> PR #42 를 봐줘 main.go:7", 0))
	type page struct {
		Records []monitor.ObservedAnswer
		Count   int
		More    bool
	}
	newContract(t, b).check(t, http.MethodGet, "/api/discord/observed", http.StatusOK)
	got := get[page](t, b, "/api/discord/observed?agent=seum", http.StatusOK)
	want := []monitor.ObservedAnswer{{AgentID: "seum", Record: route.Record{MessageID: "1404000000000000040", Sender: "민수",
		Summary: "@이든 PR #42 를 봐줘 main.go:7", At: int64(at(0)), ChannelID: channelID, Mentioned: []string{"eden"},
		Tokens: route.Tokens{Mentions: []string{edenBot}, PRs: []int{42}, CodeRefs: []string{"main.go:7"}}}}}
	if diff := cmp.Diff(want, got.Records); diff != "" || got.More {
		t.Errorf("-want +got:\n%s", diff)
	}
	if some := get[page](t, b, "/api/discord/observed?limit=1", http.StatusOK); some.Count != 1 || !some.More {
		t.Errorf("one of two is %+v, want one and more", some)
	}
	b.now.Store(int64(at(25 * 60)))
	if old := get[page](t, b, "/api/discord/observed", http.StatusOK); old.Count != 0 {
		t.Errorf("after a day: %+v, want none", old)
	}
	if old := get[page](t, b, "/api/discord/observed?since=2026-02-20T00:00:00Z", http.StatusOK); old.Count != 2 {
		t.Errorf("after a day, asked for: %+v, want two", old)
	}
}

// Posts are listed the newest first, and selected by what they were posted for.
func TestDiscordPosts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.posted(t, "reply/r1", "eden", "1404000000000000050", "", 1, coordination.DiscordOutbound{Purpose: delivery.Reply, RunID: "r1"})
	seq := b.posted(t, "collab/c1/remind/1", "ruda", "1404000000000000051", threadID, 2, coordination.DiscordOutbound{Purpose: delivery.Reminder, CollabID: "c1", System: true})
	type page struct {
		Posts          []monitor.PostAnswer
		Count          int
		NextCursor     *string
		DerivedFromSeq int64
	}
	reminder := monitor.PostAnswer{Channel: "discord", MessageID: "1404000000000000051", PlaceID: threadID, ThreadID: threadID, AgentID: "ruda", AccountID: "ruda", Purpose: "reminder",
		EffectID: "collab/c1/remind/1", CollabID: "c1", System: true, At: int64(at(2)), DerivedFromSeq: seq}
	reply := monitor.PostAnswer{Channel: "discord", MessageID: "1404000000000000050", PlaceID: channelID, AgentID: "eden", AccountID: "eden", Purpose: "reply", EffectID: "reply/r1",
		RunID: "r1", At: int64(at(1)), DerivedFromSeq: seq - 1}
	for query, want := range map[string][]monitor.PostAnswer{"": {reminder, reply}, "?purpose=reply": {reply}, "?place=" + threadID: {reminder}, "?agent=EDEN": {reply},
		"?messageId=1404000000000000051": {reminder}, "?effectId=reply/r1": {reply}, "?agent=seum": {}} {
		got := get[page](t, b, "/api/discord/posts"+query, http.StatusOK)
		if diff := cmp.Diff(want, got.Posts); diff != "" || got.NextCursor != nil {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
	first := get[page](t, b, "/api/discord/posts?limit=1", http.StatusOK)
	if first.NextCursor == nil || first.DerivedFromSeq != seq {
		t.Fatalf("the first page is %+v, want a cursor", first)
	}
	newContract(t, b).check(t, http.MethodGet, "/api/discord/posts?limit=1", http.StatusOK)
	if rest := get[page](t, b, "/api/discord/posts?limit=1&cursor="+*first.NextCursor, http.StatusOK); rest.Count != 1 || rest.Posts[0].MessageID != reply.MessageID {
		t.Errorf("the second page is %+v, want the reply", rest)
	}
}

// Bots are listed with their state, and those that do not work fully are shown to operators.
func TestDiscordBots(t *testing.T) {
	t.Parallel()
	long := noon.Add(-time.Minute).UnixMilli()
	list := []health.Bot{
		{Channel: "discord", AccountID: "default", AgentID: "ruda", UserID: rudaBot, UserName: "루다", State: "ready", Since: long, Connections: 1},
		{Channel: "discord", AccountID: "eden", AgentID: "eden", State: "failed", Since: long, Class: "token_refused", Text: "Discord refuses its token", Hint: "make a new token"},
		{Channel: "discord", AccountID: "seum", AgentID: "seum", State: "resuming", Since: long},
		{Channel: "discord", AccountID: "soon", State: "connecting", Since: noon.UnixMilli()},
		{Channel: "discord", AccountID: "spare", State: "off", Since: long},
		{Channel: "discord", AccountID: "blind", State: "ready", Since: long, Missing: "it may not read messages", MissingHint: "switch on the intent"},
	}
	b := setup(t, func(o *monitor.Options) { o.Bots = func() []health.Bot { return list } })
	contract := newContract(t, b)
	contract.check(t, http.MethodGet, "/api/discord/bots", http.StatusOK)
	got := get[monitor.BotsAnswer](t, b, "/api/discord/bots", http.StatusOK)
	if diff := cmp.Diff(monitor.BotsAnswer{Bots: list, Count: 6}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	contract.check(t, http.MethodGet, "/readyz", http.StatusOK)
	ready := get[struct {
		Status  string
		Reasons []health.Reason
	}](t, b, "/readyz", http.StatusOK)
	want := []health.Reason{
		{Severity: "warning", Code: "discord_bot_offline", What: `bot "eden" of eden is not connected to Discord: Discord refuses its token`, Hint: "make a new token"},
		{Severity: "warning", Code: "discord_bot_offline", What: `bot "seum" of seum is not connected to Discord: resuming since 2026-02-20T11:59:00.000Z`,
			Hint: "check whether Discord is reachable; see GET /api/channels/discord/bots"},
		{Severity: "warning", Code: "discord_bot_limited", What: `bot "blind" lacks something in Discord: it may not read messages`, Hint: "switch on the intent"},
	}
	if diff := cmp.Diff(want, ready.Reasons); diff != "" || ready.Status != "degraded" {
		t.Errorf("ready is %s (-want +got):\n%s", ready.Status, diff)
	}
	contract.check(t, http.MethodGet, "/api/status", http.StatusOK)
	if s := get[monitor.Status](t, b, "/api/status", http.StatusOK); s.Discord.Bots != 5 || s.Discord.BotsReady != 2 || len(s.Reasons) != 3 || s.Status != "degraded" {
		t.Errorf("status says %+v and %+v, want 2 of 5 bots and the reasons", s.Discord, s.Reasons)
	}
	contract.check(t, http.MethodGet, "/api/health", http.StatusOK)
	type answer struct {
		Discord *struct {
			Bots, BotsReady int
			Accounts        []health.Bot
		}
	}
	short := make([]health.Bot, len(list))
	for i, one := range list {
		short[i] = health.Bot{AccountID: one.AccountID, AgentID: one.AgentID, State: one.State, Since: one.Since}
	}
	if h := get[answer](t, b, "/api/health", http.StatusOK).Discord; h == nil || h.Bots != 5 || h.BotsReady != 2 || cmp.Diff(short, h.Accounts) != "" {
		t.Errorf("health says %+v of the bots, want 2 of 5, and how each stands", h)
	}
	if h := get[answer](t, setup(t), "/api/health", http.StatusOK).Discord; h != nil {
		t.Errorf("health says %+v where no bots run, want nothing", h)
	}
	none := get[monitor.BotsAnswer](t, setup(t), "/api/discord/bots", http.StatusOK)
	if none.Count != 0 || none.Bots == nil || !strings.Contains(none.Note, "no bots run here") {
		t.Errorf("without bots: %+v, want none and why", none)
	}
}

// Posts that were given up are counted for operators until they are settled.
func TestUndeliveredPosts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, end := range []string{coordination.TypeWorkDead, coordination.TypeWorkDead, coordination.TypeWorkCompleted} {
		d := delivery.Delivery{Purpose: delivery.Reply, AccountID: "eden", AgentID: "eden", ChannelID: channelID, Messages: []string{"네"}}
		effect := fmt.Sprint("reply/", i)
		asked, err := d.Work(effect, 0)
		if err != nil {
			t.Fatal(err)
		}
		b.happens(t, coordination.WorkStream(effect), coordination.TypeWorkScheduled, "eden", 1, asked)
		b.happens(t, coordination.WorkStream(effect), coordination.TypeWorkLeased, "eden", 2, coordination.WorkAttempt{EffectID: effect, Attempt: 1})
		b.happens(t, coordination.WorkStream(effect), end, "eden", 3, coordination.WorkAttempt{EffectID: effect, Attempt: 1, Error: "delivery_unknown"})
	}
	undelivered := func() int { return get[monitor.Status](t, b, "/api/status", http.StatusOK).Discord.Undelivered }
	if n := undelivered(); n != 2 {
		t.Errorf("%d posts are undelivered, want the two that were given up", n)
	}
	newContract(t, b).check(t, http.MethodGet, "/api/status", http.StatusOK)
	b.happens(t, coordination.WorkStream("reply/0"), coordination.TypeWorkCancelled, "", 4, coordination.WorkAttempt{EffectID: "reply/0"})
	if n := undelivered(); n != 1 {
		t.Errorf("%d posts are undelivered when one was settled, want 1", n)
	}
}
