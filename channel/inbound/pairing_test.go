package inbound_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/services/pairings"
)

// dm is a direct message of a user to ruda's bot.
func (l *fixture) dm(user, name, text string) string {
	in := l.message("bora", "500000000"+user, text)
	in.AccountID, in.Message.GuildID = "acc-ruda", ""
	in.Message.Author = channel.Author{User: channel.User{ID: user, Name: name}}
	return l.hears(in)
}

// codeOf is the code that a person was given for a message, "" for none. The person is told the same.
func (l *fixture) codeOf(user, messageID string) (code string) {
	l.t.Helper()
	for _, e := range l.events(coordination.PairingStream("discord", user)) {
		if d := read[coordination.Pairing](l.t, &e); e.Type == coordination.TypePairingRequested && d.MessageID == messageID {
			code = d.Code
		}
	}
	var told delivery.Delivery
	for _, e := range l.events(coordination.WorkStream("discord/pairing/" + messageID)) {
		if e.Type == coordination.TypeWorkScheduled {
			scheduled := read[coordination.WorkScheduled](l.t, &e)
			if err := json.Unmarshal(scheduled.Payload, &told); err != nil {
				l.t.Fatal(err)
			}
		}
	}
	if (code == "") != (len(told.Messages) == 0) || code != "" && (!strings.Contains(told.Messages[0], "pairing approve discord "+code) || told.ReplyTo != messageID ||
		told.AccountID != "acc-ruda" || !told.System) {
		l.t.Errorf("of code %q the person is told %+v", code, told)
	}
	return code
}

func (l *fixture) pairings() *pairings.Service {
	return &pairings.Service{Log: l.db, Config: func() *config.Config { return l.config }, Now: l.clock}
}

// An unknown person is given a code, once; the message is not handled. Approved, the person is, by id and not by name; also after a
// restart, until that is taken back.
func TestUnknownPeopleArePaired(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	first := l.dm("6000001", "bora", "안녕")
	l.want(first, "dropped:dm_not_paired")
	code := l.codeOf("6000001", first)
	if code == "" || l.runsOf(first) != "" {
		t.Fatalf("the code is %q, and runs %q", code, l.runsOf(first))
	}
	l = l.reopened()
	again := l.after(time.Minute).dm("6000001", "bora", "거기 있나요?")
	if l.want(again, "dropped:dm_not_paired"); l.codeOf("6000001", again) != "" {
		t.Error("a second code is given while the first is valid")
	}
	p, err := l.pairings().Approve(t.Context(), "discord", strings.ToLower(code), "kim", true)
	if err != nil || p.UserID != "6000001" || p.UserName != "bora" || p.By != "kim" {
		t.Fatalf("approved is %+v, %v", p, err)
	}
	if _, err := l.pairings().Approve(t.Context(), "discord", code, "kim", true); err == nil {
		t.Error("a code approves twice")
	}
	if n := len(l.events(coordination.WorkStream("discord/paired/6000001/" + code))); n != 1 {
		t.Errorf("the person is told %d times of the approval, want once", n)
	}
	l = l.reopened()
	l.want(l.after(time.Minute).dm("6000001", "another name", "이제는?"), "ruda=binding")
	l.want(l.after(time.Minute).dm("6000002", "bora", "나도"), "dropped:dm_not_paired")
	if _, err := l.pairings().Revoke(t.Context(), "discord", "6000001", "kim"); err != nil {
		t.Fatal(err)
	}
	l = l.reopened()
	l.want(l.after(time.Minute).dm("6000001", "bora", "그래도?"), "dropped:dm_not_paired")
}

// At most three wait; an expired code approves no one, and makes room.
func TestFewWaitForAnHour(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	var codes []string
	for i := range 4 {
		user := fmt.Sprint(6000001 + i)
		codes = append(codes, l.codeOf(user, l.dm(user, "a", "안녕")))
	}
	if codes[0] == "" || codes[1] == "" || codes[2] == "" || codes[3] != "" {
		t.Fatalf("the codes are %q, want three", codes)
	}
	l.after(time.Hour)
	if _, err := l.pairings().Approve(t.Context(), "discord", codes[0], "kim", false); err == nil {
		t.Error("an expired code approves")
	}
	if l.codeOf("6000004", l.dm("6000004", "a", "안녕")) == "" {
		t.Error("expired requests leave no room")
	}
	if code := l.codeOf("6000001", l.dm("6000001", "a", "안녕")); cmp.Or(code, codes[0]) == codes[0] {
		t.Errorf("after an hour the person has the code %q", code)
	}
}

// Wrong codes are counted, also over a restart, and then the right one is refused for an hour.
func TestWrongCodesAreBounded(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	for range 12 {
		if _, err := l.pairings().Approve(t.Context(), "discord", "AAAAAAAA", "kim", false); err == nil {
			t.Fatal("a wrong code approves")
		}
	}
	if n := len(l.events(coordination.PairingStream("discord", ""))); n != 10 {
		t.Errorf("%d wrong codes are recorded, want 10: no more are looked at", n)
	}
	l = l.reopened()
	code := l.codeOf("6000001", l.after(30*time.Minute).dm("6000001", "a", "안녕"))
	if _, err := l.pairings().Approve(t.Context(), "discord", code, "kim", false); err == nil {
		t.Error("a code is accepted after ten wrong ones")
	}
	l.after(31 * time.Minute)
	if _, err := l.pairings().Approve(t.Context(), "discord", code, "kim", false); err != nil {
		t.Errorf("an hour later: %v", err)
	}
}

// No code is given to bots, in channels, to listed people, or where the policy is another one.
func TestNoCodeIsGivenElsewhere(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"allowlist", "disabled", "open"} {
		l := setup(t, altered(func(d *config.Channel) { d.DMPolicy = policy }))
		if id := l.dm("6000001", "a", "안녕"); l.codeOf("6000001", id) != "" {
			t.Errorf("%s: a code is given", policy)
		}
	}
	l := setup(t, altered(func(d *config.Channel) { d.AllowFrom = []string{"6000001"} }))
	l.want(l.dm("6000001", "a", "안녕"), "ruda=binding")
	in := l.message("bora", "500000000000000009", "안녕")
	in.AccountID, in.Message.GuildID = "acc-ruda", ""
	in.Message.Author = channel.Author{User: channel.User{ID: "6000009", Bot: true}}
	if id := l.hears(in); l.codeOf("6000009", id) != "" {
		t.Error("a bot is given a code")
	}
}

// A place that cannot be written to does not hold up the messages behind it.
func TestAPlaceThatCannotBeToldIsGivenUp(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{logs: &buffer{}})
	in := l.message("bora", "no place", "안녕")
	in.AccountID, in.Message.GuildID = "acc-ruda", ""
	l.want(l.hears(in), "dropped:internal_error")
	l.want(l.says("bora", general, "@eden 봐줘"), "eden=mentioned observer:other_mentioned")
}
