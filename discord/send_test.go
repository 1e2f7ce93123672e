package discord_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

func (m *team) draft(nonce, content string, notify ...string) channel.Post {
	return channel.Post{AccountID: "ruda", ChannelID: m.channel.ID, Content: content, Nonce: nonce, Notify: notify}
}

func (m *team) send(p channel.Post) channel.Posted {
	m.t.Helper()
	posted, err := m.Send(m.ctx, p)
	if err != nil {
		m.t.Fatal(err)
	}
	return posted
}

func TestOneNonceIsOneMessage(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	asked := time.Now().UnixMilli()
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: posting}, Effect: discordtest.LoseAnswer()})
	_, err := m.Send(m.ctx, m.draft("n-1", "once"))
	var lost *channel.Error
	if !errors.As(err, &lost) || lost.Class != collaborate.ClassLost {
		t.Fatalf("a lost answer is %v, want lost", err)
	}
	found, is, err := m.FindMessage(m.ctx, channel.Lookup{AccountID: "ruda", ChannelID: m.channel.ID, Nonce: "n-1", Content: "once", Since: asked})
	if err != nil || !is {
		t.Fatalf("the message is not found: %v", err)
	}
	if again := m.send(m.draft("n-1", "once")); again.ID != found.ID || again.ChannelID != m.channel.ID || again.At == 0 {
		t.Errorf("sent again it is %+v, want the one that was found, %s", again, found.ID)
	}
	if other := m.send(m.draft("n-2", "once")); other.ID == found.ID {
		t.Error("another nonce gives the same message")
	}
	if n := len(m.Messages(m.channel.ID)); n != 2 {
		t.Errorf("%d messages, want 2", n)
	}
}

func TestFailuresHaveTheirClass(t *testing.T) {
	t.Parallel()
	patient := newTeam(t, func(_ *discordtest.Options, o *channel.Options) { o.TimeLimit = testscale.Patience }).start()
	hurried := newTeam(t, func(_ *discordtest.Options, o *channel.Options) { o.TimeLimit = 300 * time.Millisecond }).start()
	release := make(chan struct{})
	defer close(release)
	for name, c := range map[string]struct {
		effect discordtest.Effect
		want   collaborate.Failure
		class  collaborate.Class
		hint   string
	}{
		"403":      {discordtest.Forbidden(), collaborate.Failure{Status: 403, Code: discordtest.CodeMissingPermissions}, collaborate.ClassForbidden, "permission"},
		"404":      {discordtest.NotFound(discordtest.CodeUnknownChannel), collaborate.Failure{Status: 404, Code: 10003}, collaborate.ClassNotFound, "still exists"},
		"archived": {discordtest.Refuse(400, discordtest.CodeThreadArchived, "Thread is archived"), collaborate.Failure{Status: 400, Code: 50083}, collaborate.ClassNotFound, "archived"},
		"locked":   {discordtest.Refuse(400, discordtest.CodeThreadLocked, "Thread is locked"), collaborate.Failure{Status: 400, Code: 160005}, collaborate.ClassForbidden, ""},
		"401":      {discordtest.Refuse(401, 0, "401: Unauthorized"), collaborate.Failure{Status: 401}, collaborate.ClassUnauthorized, "channels.discord.accounts.ruda.token"},
		"500":      {discordtest.Unavailable(500), collaborate.Failure{Status: 500}, collaborate.ClassUnavailable, "discordstatus"},
		"502":      {discordtest.Unavailable(502), collaborate.Failure{Status: 502}, collaborate.ClassUnavailable, ""},
		"400":      {discordtest.Refuse(400, 50035, "Invalid Form Body"), collaborate.Failure{Status: 400, Code: 50035}, collaborate.ClassRejected, ""},
		"302":      {discordtest.Refuse(302, 0, ""), collaborate.Failure{Status: 502}, collaborate.ClassUnavailable, ""},
		"cut":      {discordtest.Cut(), collaborate.Failure{}, collaborate.ClassLost, ""},
		"lost":     {discordtest.LoseAnswer(), collaborate.Failure{}, collaborate.ClassLost, ""},
		"silent":   {discordtest.HoldAnswer(release), collaborate.Failure{TimedOut: true}, collaborate.ClassTimeout, ""},
	} {
		m := patient
		if c.want.TimedOut {
			m = hurried
		}
		before := len(m.RequestsTo(discordtest.Match{Route: posting}))
		fault := m.Inject(discordtest.Fault{Match: discordtest.Match{Route: posting}, Effect: c.effect})
		_, err := m.Send(m.ctx, m.draft("n-"+name, "hi"))
		fault.Remove()
		var got *channel.Error
		if !errors.As(err, &got) {
			t.Errorf("%s: the error is %v, want an *Error", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, got.Failure); diff != "" || got.Class != c.class || !strings.Contains(got.Hint, c.hint) || got.Local {
			t.Errorf("%s: %v is of class %s, want %s with a hint about %q; its failure (-want +got):\n%s", name, got, got.Class, c.class, c.hint, diff)
		}
		if !strings.Contains(got.Error(), "ruda") || strings.Contains(got.Error(), m.ruda.Token) {
			t.Errorf("%s: %q has to name the account, and not its token", name, got)
		}
		if n := len(m.RequestsTo(discordtest.Match{Route: posting})) - before; n != 1 {
			t.Errorf("%s: asked %d times, want once", name, n)
		}
	}
}

func TestUnreachableDiscordIsUnsent(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := m.Send(m.ctx, m.draft("n", "hi"))
	var got *channel.Error
	if !errors.As(err, &got) || got.Class != collaborate.ClassUnsent {
		t.Errorf("the error is %v, want unsent: there is no connection", err)
	}
}

func TestRateLimitsAreReportedAndFollowed(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: posting}, Effect: discordtest.TooManyRequests(400*time.Millisecond, false)})
	_, err := m.Send(m.ctx, m.draft("n", "hi"))
	var got *channel.Error
	if !errors.As(err, &got) || got.Class != collaborate.ClassRateLimited || got.Failure.RetryAfter != 400*time.Millisecond {
		t.Fatalf("the error is %v, want rate_limited with 400 ms", err)
	}
	began := time.Now()
	m.send(m.draft("n", "hi"))
	if took := time.Since(began); took < 350*time.Millisecond {
		t.Errorf("the next one left after %v, want the bot to keep still for 400 ms", took)
	}
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: posting}, Effect: discordtest.TooManyRequests(10*time.Minute, true)})
	_, _ = m.Send(m.ctx, m.draft("o", "hi"))
	before := len(m.RequestsTo(discordtest.Match{Route: posting}))
	_, err = m.Send(m.ctx, m.draft("o", "hi"))
	if !errors.As(err, &got) || got.Class != collaborate.ClassRateLimited || !got.Local || got.Failure.RetryAfter < 9*time.Minute {
		t.Errorf("the error is %v, want it refused here for about 10 min", err)
	}
	if n := len(m.RequestsTo(discordtest.Match{Route: posting})); n != before {
		t.Errorf("%d more requests, want none while Discord wants none", n-before)
	}
}

func TestOnlyThoseWhoAreNamedAreNotified(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	role := m.guild.Grant(m.ruda.ID, discordtest.MentionEveryone)
	text := "@everyone @here <@&" + role + "> " + m.bora.Mention() + " " + m.eden.Mention()
	for nonce, c := range map[string]struct{ notify, want []string }{
		"no one": {nil, nil},
		"eden":   {[]string{m.eden.ID}, []string{m.eden.ID}},
		"both":   {[]string{m.eden.ID, m.bora.ID}, []string{m.bora.ID, m.eden.ID}},
	} {
		id := m.send(m.draft(nonce, text, c.notify...)).ID
		all := m.Messages(m.channel.ID)
		posted := all[slices.IndexFunc(all, func(p discordtest.Message) bool { return p.ID == id })]
		var got []string
		for _, u := range posted.Mentions {
			got = append(got, u.ID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || posted.MentionEveryone || len(posted.MentionRoles) != 0 {
			t.Errorf("%s: everyone %t, roles %v, users (-want +got):\n%s", nonce, posted.MentionEveryone, posted.MentionRoles, diff)
		}
	}
	asked := m.post(m.channel.ID, "a question")
	p := m.draft("reply", "an answer")
	p.ReplyTo = asked.ID
	id := m.send(p).ID
	all := m.Messages(m.channel.ID)
	if last := all[len(all)-1]; last.ID != id || last.Reference == nil || last.Reference.MessageID != asked.ID || len(last.Mentions) != 0 {
		t.Errorf("the reply is %+v, want it to answer %s without a mention", last, asked.ID)
	}
}

func TestWhatDiscordWouldRefuseIsRefusedHere(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	m.settings.accounts = append(m.settings.accounts, account{id: "off", disabled: true, token: "x.y.z"})
	m.Configure(m.settings.read(t))
	before := len(m.Requests())
	for name, change := range map[string]func(*channel.Post){
		"empty":         func(p *channel.Post) { p.Content = " \n" },
		"long":          func(p *channel.Post) { p.Content = strings.Repeat("가", 2001) },
		"no nonce":      func(p *channel.Post) { p.Nonce = "" },
		"long nonce":    func(p *channel.Post) { p.Nonce = strings.Repeat("n", 26) },
		"no id":         func(p *channel.Post) { p.ChannelID = "../guilds/1" },
		"no message id": func(p *channel.Post) { p.ReplyTo = "x" },
	} {
		p := m.draft("n", "hi")
		change(&p)
		_, err := m.Send(m.ctx, p)
		var got *channel.Error
		if !errors.As(err, &got) || got.Class != collaborate.ClassRejected || !got.Local || got.Hint == "" {
			t.Errorf("%s: the error is %v, want a rejection with a hint", name, err)
		}
	}
	for _, account := range []string{"stranger", "off"} {
		p := m.draft("n", "hi")
		p.AccountID = account
		if _, err := m.Send(m.ctx, p); !errors.Is(err, channel.ErrNoBot) {
			t.Errorf("%s: the error is %v, want ErrNoBot", account, err)
		}
	}
	if n := len(m.Requests()); n != before {
		t.Errorf("%d requests were made, want none", n-before)
	}
}

func TestThreadsStartAndEnd(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	forum, news := m.guild.AddChannel("forum", discordtest.ChannelOptions{Type: discordtest.Forum}), m.guild.AddChannel("news", discordtest.ChannelOptions{Type: discordtest.Announcements})
	m.guild.Grant(m.ruda.ID, discordtest.ManageThreads)
	m.start()
	asked := time.Now().UnixMilli()
	first, err := m.StartThread(m.ctx, channel.Opening{AccountID: "ruda", ChannelID: m.channel.ID, Name: "[협업] 루다 → 이든"})
	if err != nil || first.ChannelID != m.channel.ID || first.GuildID != m.guild.ID || first.OwnerID != m.ruda.ID || first.Name != "[협업] 루다 → 이든" {
		t.Fatalf("the thread is %+v (%v)", first, err)
	}
	if c, _ := m.Channel(first.ID); c.Type != discordtest.PublicThread {
		t.Errorf("the thread is of type %d, want a public one", c.Type)
	}
	found, is, err := m.FindThread(m.ctx, channel.Lookup{AccountID: "ruda", ChannelID: m.channel.ID, Name: first.Name, Since: asked})
	if err != nil || !is || found.ID != first.ID {
		t.Errorf("found is %+v (%v), want the thread", found, err)
	}
	if got, is, err := m.FindThread(m.ctx, channel.Lookup{AccountID: "eden", ChannelID: m.channel.ID, Name: first.Name, Since: asked}); is || err != nil {
		t.Errorf("eden finds %+v (%v), want nothing: it is ruda's", got, err)
	}
	post, err := m.StartThread(m.ctx, channel.Opening{AccountID: "ruda", ChannelID: forum.ID, Name: "idea", Starter: &channel.Post{Content: "what of it, " + m.bora.Mention(), Nonce: "n"}})
	if err != nil || post.MessageID == "" || len(m.Messages(post.ID)) != 1 || len(m.Messages(post.ID)[0].Mentions) != 0 {
		t.Errorf("the thread of the forum is %+v (%v), want one with a message without mentions", post, err)
	}
	announced, err := m.StartThread(m.ctx, channel.Opening{AccountID: "ruda", ChannelID: news.ID, Name: "news"})
	if c, _ := m.Channel(announced.ID); err != nil || c.Type != discordtest.AnnouncementsThread {
		t.Errorf("the thread of announcements is of type %d (%v), want %d", c.Type, err, discordtest.AnnouncementsThread)
	}
	said := m.post(m.channel.ID, "about this")
	hung, err := m.StartThread(m.ctx, channel.Opening{AccountID: "ruda", ChannelID: m.channel.ID, MessageID: said.ID, Name: "that"})
	if err != nil || hung.ID != said.ID {
		t.Errorf("the thread of the message is %+v (%v), want the id %s", hung, err, said.ID)
	}

	yes := true
	if _, err := m.EditThread(m.ctx, "ruda", first.ID, discord.ThreadEdit{Archived: &yes, Locked: &yes}); err != nil {
		t.Fatal(err)
	}
	want := collaborate.Place{ID: first.ID, Kind: collaborate.Thread, Name: first.Name, ParentID: m.channel.ID, GuildID: m.guild.ID, Archived: true, Locked: true}
	got, is, err := m.Place(m.ctx, "ruda", first.ID)
	if diff := cmp.Diff(want, got); diff != "" || !is || err != nil {
		t.Errorf("the thread stands (%v, -want +got):\n%s", err, diff)
	}
	if got, is, err := m.Place(m.ctx, "ruda", "123456789012345678"); is || err != nil {
		t.Errorf("no channel is %+v (%v), want nothing", got, err)
	}
	m.until("the bots to be told", func() bool { p, is := m.Known(first.ID); return is && p.Locked || wait(m, time.Millisecond) })
}

func TestMessagesAreTouched(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	own := m.send(m.draft("n", "draft"))
	if err := m.Edit(m.ctx, "ruda", m.channel.ID, own.ID, "final "+m.bora.Mention()); err != nil {
		t.Fatal(err)
	}
	m.untilTold("eden", "edited final "+m.bora.Mention())
	for range 2 {
		if err := m.React(m.ctx, "eden", m.channel.ID, own.ID, "👀", true); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Typing(m.ctx, "eden", m.channel.ID); err != nil {
		t.Fatal(err)
	}
	got := m.Messages(m.channel.ID)[0]
	if got.Content != "final "+m.bora.Mention() || len(got.Mentions) != 0 || len(got.Reactions) != 1 || got.Reactions[0].Count != 1 || got.Reactions[0].Emoji.Name != "👀" {
		t.Errorf("the message is %+v, want it edited, without mentions, one 👀", got)
	}
	for range 2 {
		if err := m.React(m.ctx, "eden", m.channel.ID, own.ID, "👀", false); err != nil {
			t.Fatal(err)
		}
	}
	if got := m.Messages(m.channel.ID)[0]; len(got.Reactions) != 0 {
		t.Errorf("the message has %+v, want no reaction", got.Reactions)
	}
	if err := m.React(m.ctx, "eden", m.channel.ID, "../../x", "👀", true); err == nil {
		t.Error("a message is named by a path")
	}
	if err := m.Edit(m.ctx, "eden", m.channel.ID, own.ID, "mine"); err == nil {
		t.Error("eden has edited what ruda has said")
	}
}

// hand is a clock that a test moves.
type hand struct {
	mu     sync.Mutex
	at     time.Time
	timers []*handTimer
}

type handTimer struct {
	h    *hand
	at   time.Time
	ring func()
}

func (t *handTimer) Stop() bool {
	t.h.mu.Lock()
	defer t.h.mu.Unlock()
	n := len(t.h.timers)
	t.h.timers = slices.DeleteFunc(t.h.timers, func(o *handTimer) bool { return o == t })
	return len(t.h.timers) < n
}

func (h *hand) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

func (h *hand) afterFunc(d time.Duration, f func()) channel.Timer {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := &handTimer{h, h.at.Add(d), f}
	h.timers = append(h.timers, t)
	return t
}

// waits says how many timers run for less than a while: those of queues, not that of a connection.
func (h *hand) waits(within time.Duration) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.timers {
		if t.at.Sub(h.at) < within {
			n++
		}
	}
	return n
}

func (h *hand) advance(d time.Duration) {
	h.mu.Lock()
	h.at = h.at.Add(d)
	var due []*handTimer
	h.timers = slices.DeleteFunc(h.timers, func(t *handTimer) bool {
		if t.at.After(h.at) {
			return false
		}
		due = append(due, t)
		return true
	})
	h.mu.Unlock()
	for _, t := range due {
		t.ring()
	}
}

func TestPostsGoInOrderAndNoFaster(t *testing.T) {
	t.Parallel()
	clock := &hand{at: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	m := newTeam(t, func(_ *discordtest.Options, o *channel.Options) {
		o.Now, o.AfterFunc, o.Queue = clock.now, clock.afterFunc, 11
	})
	m.settings.discord = map[string]any{"collaboration": map[string]any{"rateLimit": map[string]any{"messagePerChannelPerSecond": 5, "threadCreationPerMinute": 2}}}
	m.start()
	release := make(chan struct{})
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: posting}, Effect: discordtest.Hold(release)})
	var sent sync.WaitGroup
	var want []string
	for i := range 12 { // the first one is held, so that the others wait in a known order
		text := strconv.Itoa(i)
		want = append(want, text)
		p := m.draft("n"+text, text)
		if i%2 == 1 {
			p.AccountID = "eden"
		}
		sent.Go(func() {
			if _, err := m.Send(m.ctx, p); err != nil {
				t.Errorf("post %s: %v", text, err)
			}
		})
		m.until("the post to wait", func() bool {
			return discord.Waiting(m.Bots, m.channel.ID) == i && len(m.RequestsTo(discordtest.Match{Route: posting})) == 1 || wait(m, time.Millisecond)
		})
	}
	_, err := m.Send(m.ctx, m.draft("n", "too much"))
	if !errors.Is(err, channel.ErrFull) {
		t.Errorf("the error of the one too many is %v, want ErrFull", err)
	}
	given, giveUp := context.WithCancel(m.ctx)
	giveUp()
	if _, err := m.Send(given, channel.Post{AccountID: "ruda", ChannelID: m.guild.AddChannel("other", discordtest.ChannelOptions{}).ID, Content: "x", Nonce: "x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error of who gives up is %v, want context.Canceled", err)
	}
	close(release)
	for _, n := range []int{5, 10, 12} {
		m.until(strconv.Itoa(n)+" posts", func() bool {
			return len(m.Messages(m.channel.ID)) == n && (n == 12 || clock.waits(2*time.Second) == 1) || wait(m, time.Millisecond)
		})
		clock.advance(999 * time.Millisecond)
		if got := len(m.Messages(m.channel.ID)); got != n {
			t.Errorf("%d posts before the second is over, want %d", got, n)
		}
		clock.advance(time.Millisecond)
	}
	sent.Wait()
	var got []string
	for _, p := range m.Messages(m.channel.ID) {
		got = append(got, p.Content)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the posts (-want +got):\n%s", diff)
	}

	for i := range 3 {
		sent.Go(func() {
			if _, err := m.StartThread(m.ctx, channel.Opening{AccountID: "ruda", ChannelID: m.channel.ID, Name: strconv.Itoa(i)}); err != nil {
				t.Errorf("thread %d: %v", i, err)
			}
		})
	}
	m.until("two threads, and one that waits", func() bool {
		return len(m.Threads(m.channel.ID)) == 2 && clock.waits(2*time.Minute) >= 1 || wait(m, time.Millisecond)
	})
	clock.advance(time.Minute)
	sent.Wait()
	if n := len(m.Threads(m.channel.ID)); n != 3 {
		t.Errorf("%d threads, want 3", n)
	}
}
