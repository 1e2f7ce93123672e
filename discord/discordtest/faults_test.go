package discordtest_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/discord/discordtest"
)

const sending = "POST /channels/{channel}/messages"

func TestFaultsRefuse(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	path := "/channels/" + m.channel.ID + "/messages"
	for name, c := range map[string]struct {
		effect       discordtest.Effect
		status, code int
	}{
		"403":   {discordtest.Forbidden(), 403, discordtest.CodeMissingPermissions},
		"404":   {discordtest.NotFound(discordtest.CodeUnknownChannel), 404, discordtest.CodeUnknownChannel},
		"500":   {discordtest.Unavailable(500), 500, 0},
		"503":   {discordtest.Unavailable(503), 503, 0},
		"429":   {discordtest.TooManyRequests(1500*time.Millisecond, false), 429, 0},
		"20028": {discordtest.ChannelWriteLimit(time.Second), 429, discordtest.CodeChannelRateLimit},
		"other": {discordtest.Refuse(400, 40333, "internal network error"), 400, 40333},
	} {
		before := len(m.Messages(m.channel.ID))
		fault := m.Inject(discordtest.Fault{Match: discordtest.Match{Route: sending, Bot: m.ruda.ID, Channel: m.channel.ID}, Effect: c.effect})
		if got := m.ask(m.ruda, "POST", path, `{"content":"hi"}`).refusal(t); got.Status != c.status || got.Code != c.code {
			t.Errorf("%s: the answer is %+v, want %d and code %d", name, got, c.status, c.code)
		}
		if n := len(m.Messages(m.channel.ID)); n != before {
			t.Errorf("%s: a refused message was posted", name)
		}
		if got := m.ask(m.ruda, "POST", path, `{"content":"hi"}`); got.status != 200 || fault.Hits() != 1 {
			t.Errorf("%s: the second one is %d after %d hits, want 200 after one", name, got.status, fault.Hits())
		}
		fault.Remove()
	}
}

func TestFaultsSayWhenToComeBack(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	m.Inject(discordtest.Fault{Effect: discordtest.TooManyRequests(1500*time.Millisecond, true)})
	a := m.ask(m.ruda, "GET", "/users/@me", "")
	if a.header.Get("Retry-After") != "2" || a.header.Get("X-RateLimit-Global") != "true" || a.header.Get("X-RateLimit-Reset-After") != "1.500" {
		t.Errorf("the headers are %v, want 2 s, global, 1.5 s", a.header)
	}
	if diff := cmp.Diff(`{"message":"You are being rate limited.","retry_after":1.5,"global":true}`, string(a.body)); diff != "" {
		t.Errorf("the body (-want +got):\n%s", diff)
	}
	var limited *discordgo.RateLimitError
	m.Inject(discordtest.Fault{Effect: discordtest.TooManyRequests(2*time.Second, false)})
	session := m.rest(m.eden)
	session.ShouldRetryOnRateLimit = false
	if _, err := session.User("@me"); !errors.As(err, &limited) || limited.RetryAfter != 2*time.Second {
		t.Errorf("the library says %v, want a wait of 2 s", err)
	}
}

func TestFaultsAreCounted(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	m.Inject(discordtest.Fault{Match: discordtest.Match{Bot: m.eden.ID}, Times: -1, Effect: discordtest.Unavailable(500)})
	m.Inject(discordtest.Fault{After: 1, Times: 2, Effect: discordtest.Forbidden()})
	var got []int
	for range 5 {
		got = append(got, m.ask(m.ruda, "GET", "/users/@me", "").status)
	}
	if diff := cmp.Diff([]int{200, 403, 403, 200, 200}, got); diff != "" {
		t.Errorf("ruda's answers (-want +got):\n%s", diff)
	}
	for range 3 {
		if a := m.ask(m.eden, "GET", "/users/@me", ""); a.status != 500 {
			t.Errorf("eden is answered %d, want always 500", a.status)
		}
	}
	if all := m.RequestsTo(discordtest.Match{Bot: m.eden.ID}); len(all) != 3 || all[0].Fault != "refused" || all[0].Status != 500 {
		t.Errorf("eden's requests are %+v, want three with their fault", all)
	}
}

func TestLostAnswersAndNonces(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	path, body := "/channels/"+m.channel.ID+"/messages", `{"content":"once","nonce":"request-1","enforce_nonce":true}`
	m.Inject(discordtest.Fault{Match: discordtest.Match{Route: sending}, Effect: discordtest.LoseAnswer()})
	if a, err := m.try(context.Background(), m.ruda, "POST", path, body); err == nil {
		t.Fatalf("the answer came: %d %s", a.status, a.body)
	}
	if n := len(m.Messages(m.channel.ID)); n != 1 {
		t.Fatalf("%d messages, want the deed done", n)
	}
	again := read[discordtest.Message](t, m.ask(m.ruda, "POST", path, body).body)
	if diff := cmp.Diff(m.Messages(m.channel.ID), []discordtest.Message{again}); diff != "" {
		t.Errorf("the same nonce gives another message:\n%s", diff)
	}
	m.ask(m.eden, "POST", path, body)
	m.ask(m.ruda, "POST", path, `{"content":"once","nonce":"request-1"}`)
	if n := len(m.Messages(m.channel.ID)); n != 3 {
		t.Errorf("%d messages, want one more by another author, and one more where it is not enforced", n)
	}
	m.clock.advance(5 * time.Minute)
	m.ask(m.ruda, "POST", path, body)
	if n := len(m.Messages(m.channel.ID)); n != 4 {
		t.Errorf("%d messages, want a new one after five minutes", n)
	}
	if got := m.ask(m.ruda, "POST", path, `{"content":"x","nonce":"01234567890123456789012345"}`).refusal(t); got.Code != discordtest.CodeInvalidForm {
		t.Errorf("a nonce of 26 characters is answered with %+v, want code 50035", got)
	}
	var nonces []string
	for _, r := range m.RequestsTo(discordtest.Match{Route: sending, Bot: m.eden.ID}) {
		nonces = append(nonces, r.Nonce)
	}
	if diff := cmp.Diff([]string{"request-1"}, nonces); diff != "" {
		t.Errorf("eden's nonces (-want +got):\n%s", diff)
	}
}

func TestConnectionsAreCutBeforeTheDeed(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	fault := m.Inject(discordtest.Fault{Effect: discordtest.Cut()})
	if _, err := m.try(context.Background(), m.ruda, "GET", "/users/@me", ""); err == nil {
		t.Error("an answer came")
	}
	if n := len(m.Requests()); n != 1 || fault.Hits() != 1 {
		t.Errorf("%d requests and %d hits, want one: nothing repeats it", n, fault.Hits())
	}
}

// Something else happens right before, and right after, a deed; and a deed that is denied is done.
func TestDeedsHaveABeforeAndAnAfter(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	path := "/channels/" + m.channel.ID + "/messages"
	var seen []int
	look := func() { seen = append(seen, len(m.Messages(m.channel.ID))) }
	for _, effect := range []discordtest.Effect{discordtest.Beforehand(look), discordtest.Afterwards(look)} {
		m.Inject(discordtest.Fault{Effect: effect})
		if a := m.ask(m.ruda, "POST", path, `{"content":"hi"}`); a.status != 200 {
			t.Errorf("the answer is %d, want 200", a.status)
		}
	}
	if diff := cmp.Diff([]int{0, 2}, seen); diff != "" {
		t.Errorf("messages beforehand and afterwards (-want +got):\n%s", diff)
	}
	m.Inject(discordtest.Fault{Times: -1, Effect: discordtest.Deny(502)})
	if got := m.ask(m.ruda, "POST", path, `{"content":"hi"}`).refusal(t); got.Status != 502 || len(m.Messages(m.channel.ID)) != 3 {
		t.Errorf("%+v, and %d messages, want 502 and one more", got, len(m.Messages(m.channel.ID)))
	}
	if got := m.ask(m.ruda, "POST", path, `{}`).refusal(t); got.Code != discordtest.CodeEmptyMessage {
		t.Errorf("what is refused is answered with %+v, want what it is refused for", got)
	}
	if r := m.Requests(); r[2].Status != 502 || r[2].Fault != "denied" {
		t.Errorf("the record is %+v, want what was answered", r[2])
	}
}

func TestAnswersAreHeld(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	ctx := m.context()
	path := "/channels/" + m.channel.ID + "/messages"
	for name, c := range map[string]struct {
		effect func(<-chan struct{}) discordtest.Effect
		done   int // messages while it is held
	}{"before": {discordtest.Hold, 0}, "after": {discordtest.HoldAnswer, 1}} {
		before := len(m.Messages(m.channel.ID))
		release := make(chan struct{})
		m.Inject(discordtest.Fault{Match: discordtest.Match{Route: sending}, Effect: c.effect(release)})
		answered := make(chan int, 1)
		go func() {
			a, err := m.try(ctx, m.ruda, "POST", path, `{"content":"wait"}`)
			if err != nil {
				a.status = -1
			}
			answered <- a.status
		}()
		held := discordtest.Match{Route: sending, Test: func(r discordtest.Request) bool { return !r.Over && r.Fault != "" }}
		if _, err := m.WaitRequest(ctx, held); err != nil {
			t.Fatal(err)
		}
		if err := m.Until(ctx, func() bool { return len(m.Messages(m.channel.ID)) == before+c.done }); err != nil {
			t.Errorf("%s: %d messages while held, want %d more", name, len(m.Messages(m.channel.ID))-before, c.done)
		}
		close(release)
		if status := <-answered; status != 200 {
			t.Errorf("%s: after the release the answer is %d, want 200", name, status)
		}
		// A client that gives up: its time is over, and what was held before the deed is never done.
		m.Inject(discordtest.Fault{Match: discordtest.Match{Route: sending}, Effect: c.effect(make(chan struct{}))})
		short, cancel := context.WithCancel(ctx)
		go func() {
			_, err := m.try(short, m.ruda, "POST", path, `{"content":"given up"}`)
			if err == nil {
				answered <- 1
			} else {
				answered <- 0
			}
		}()
		if _, err := m.WaitRequest(ctx, held); err != nil {
			t.Fatal(err)
		}
		if err := m.Until(ctx, func() bool { return len(m.Messages(m.channel.ID)) == before+1+c.done }); err != nil {
			t.Error(err)
		}
		cancel()
		if got := <-answered; got != 0 {
			t.Errorf("%s: an answer came to a client that had gone", name)
		}
		if err := m.Until(ctx, func() bool { return len(m.RequestsTo(held)) == 0 }); err != nil {
			t.Error(err)
		}
		if n := len(m.Messages(m.channel.ID)) - before; n != 1+c.done {
			t.Errorf("%s: %d messages, want %d", name, n, 1+c.done)
		}
	}
}

func TestSlowAnswersOutlastAClientsTime(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	m.Inject(discordtest.Fault{Effect: discordtest.Slow(time.Hour)})
	m.Inject(discordtest.Fault{Effect: discordtest.Slow(time.Millisecond)})
	session := m.rest(m.ruda)
	session.Client.Timeout = 50 * time.Millisecond
	var out interface{ Timeout() bool }
	if _, err := session.User("@me"); !errors.As(err, &out) || !out.Timeout() {
		t.Errorf("the error is %v, want a time-out", err)
	}
	session.Client.Timeout = 5 * time.Minute
	if me, err := session.User("@me"); err != nil || me.ID != m.ruda.ID {
		t.Errorf("the slow answer is %+v, %v, want ruda", me, err)
	}
}

func TestBucketsOfRoutesAndChannels(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{Limits: map[string]discordtest.Limit{sending: {2, 5 * time.Second}}})
	other := m.guild.AddChannel("other", discordtest.ChannelOptions{})
	post := func(b *discordtest.Bot, channelID string) answer {
		return m.ask(b, "POST", "/channels/"+channelID+"/messages", `{"content":"hi"}`)
	}
	one, two := post(m.ruda, m.channel.ID), post(m.ruda, m.channel.ID)
	for i, a := range []answer{one, two} {
		if a.status != 200 || a.header.Get("X-RateLimit-Remaining") != strconv.Itoa(1-i) || a.header.Get("X-RateLimit-Limit") != "2" {
			t.Errorf("answer %d is %d with %v, want 200 and %d left", i, a.status, a.header, 1-i)
		}
	}
	m.clock.advance(2 * time.Second)
	a := post(m.ruda, m.channel.ID)
	if a.status != 429 || a.header.Get("Retry-After") != "3" || a.header.Get("X-RateLimit-Reset-After") != "3.000" ||
		a.header.Get("X-RateLimit-Scope") != "user" {
		t.Errorf("the third is %d with %v, want 429 for 3 s", a.status, a.header)
	}
	if n := len(m.Messages(m.channel.ID)); n != 2 {
		t.Errorf("%d messages, want two: what is refused is not done", n)
	}
	for name, free := range map[string]answer{"another channel": post(m.ruda, other.ID), "another bot": post(m.eden, m.channel.ID)} {
		if free.status != 200 || free.header.Get("X-RateLimit-Bucket") != one.header.Get("X-RateLimit-Bucket") {
			t.Errorf("%s is answered %d, want 200 from a bucket of its own", name, free.status)
		}
	}
	m.clock.advance(3 * time.Second)
	if a := post(m.ruda, m.channel.ID); a.status != 200 {
		t.Errorf("after the reset the answer is %d, want 200", a.status)
	}
	m.SetLimit(sending, discordtest.Limit{})
	m.SetGlobalLimit(discordtest.Limit{Requests: 3, Per: time.Second})
	var got []int
	for range 4 {
		got = append(got, post(m.ruda, m.channel.ID).status)
	}
	if diff := cmp.Diff([]int{200, 200, 200, 429}, got); diff != "" {
		t.Errorf("with a limit of 3 for all (-want +got):\n%s", diff)
	}
	if a := m.ask(m.ruda, "GET", "/users/@me", ""); a.status != 429 || a.header.Get("X-RateLimit-Global") != "true" {
		t.Errorf("another route is answered %d with %v, want the limit of all", a.status, a.header)
	}
}

func TestTheLibraryKeepsToTheBuckets(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{Now: time.Now, Limits: map[string]discordtest.Limit{sending: {2, 300 * time.Millisecond}}})
	session := m.rest(m.ruda)
	for i := range 6 {
		if _, err := session.ChannelMessageSend(m.channel.ID, strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(m.Messages(m.channel.ID)); n != 6 {
		t.Errorf("%d messages, want six", n)
	}
}
