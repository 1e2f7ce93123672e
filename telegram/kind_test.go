package telegram_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
)

// Each message of whatever kind is one fact with a text that says what came; Telegram's own are none.
func TestEveryKindOfMessageSaysWhatCame(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	address := m.withWebhook()
	m.start()
	for i, c := range []struct{ member, want string }{
		{`"poll":{"id":"1","question":"Which\n<@5>?","options":[{"text":"A"},{"text":"B"}]}`, "[poll: Which <\u2060@5>? (A / B)]"},
		{`"location":{"latitude":37.5,"longitude":127.25}`, "[location: 37.500000, 127.250000]"},
		{`"venue":{"title":"Lab","address":"1 Street","location":{"latitude":1,"longitude":2}},"location":{"latitude":1,"longitude":2}`, "[place: Lab, 1 Street (1.000000, 2.000000)]"},
		{`"contact":{"phone_number":"+8210","first_name":"Bora","last_name":"Kim"}`, "[contact: Bora Kim, +8210]"},
		{`"sticker":{"file_id":"x","file_unique_id":"y","emoji":"😀"}`, "[sticker 😀]"},
		{`"sticker":{"file_id":"x","file_unique_id":"y"}`, "[sticker]"},
		{`"dice":{"emoji":"🎲","value":4}`, "[dice: 🎲 4]"},
		{`"game":{"title":"Chess"}`, "[game: Chess]"},
		{`"checklist":{"title":"Plan","tasks":[{"id":1,"text":"one"}]}`, "[checklist: Plan (one)]"},
		{`"story":{"chat":{},"id":1}`, "[a message that openclawd cannot show: story]"},
		{`"caption":"look","photo":[{"file_id":"a","file_unique_id":"b"}]`, "look"},
		{`"pinned_message":{}`, ""},
		{`"new_chat_title":"x"`, ""},
		{`"text":"last"`, "last"},
	} {
		body := fmt.Sprintf(`{"update_id":%d,"message":{"message_id":%d,"date":1700000000,"from":{"id":%d,"first_name":"Bora"},"chat":{"id":%d,"type":"private"},%s}}`,
			800_000_000+i, 8000+i, m.bora.ID, m.bora.ID, c.member)
		before := len(m.told("ruda"))
		if got := call(t, address, "s3cret", body); got != http.StatusOK {
			t.Fatalf("%s is answered with %d", c.member, got)
		}
		var want []string
		if c.want != "" {
			want = []string{"created " + c.want}
		}
		if got := m.told("ruda")[before:]; !slices.Equal(got, want) {
			t.Errorf("%s is told as %q, want %q", c.member, got, want)
		}
	}
}

// A text with links cannot pretend to mention someone, nor hide where a link leads.
func TestLinksCannotPretend(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	address := m.withWebhook()
	m.start()
	text := `😀 https://good.test](https://good.test) [x`
	body := fmt.Sprintf(`{"update_id":800000000,"message":{"message_id":8000,"date":1700000000,"from":{"id":%d,"first_name":"Bora"},"chat":{"id":%d,"type":"private"},
 "text":%q,"entities":[{"type":"text_link","offset":3,"length":%d,"url":"https://evil.test/) <@%d>"}]}}`, m.bora.ID, m.bora.ID, text, len(text)-5, m.ruda.ID)
	if got := call(t, address, "s3cret", body); got != http.StatusOK {
		t.Fatalf("the call is answered with %d", got)
	}
	in := m.told("ruda")
	want := fmt.Sprintf(`created 😀 [https://good.test\](https://good.test) \[x](https://evil.test/%%29%%20%%3C@%d%%3E)`, m.ruda.ID)
	if !slices.Equal(in, []string{want}) {
		t.Errorf("ruda was told %q, want %q", in, want)
	}
}

// Who is in a group is requested where it is not known, such as after a restart.
func TestSeatsAreKnownAfterARestart(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	m.forum.Remove(m.eden.User)
	if err := m.eden.WaitConfirmed(m.ctx); err != nil {
		t.Fatal(err)
	}
	m.halt()
	m.build()
	m.start2()
	m.write(m.forum, "@ruda_bot hello")
	m.fact("ruda", "created <@"+id(m.ruda.User)+"> hello")
	blind := map[string]bool{}
	for _, b := range m.Sight(placeID(m.forum), placeID(m.forum), "") {
		blind[b.AccountID] = b.Blind
	}
	if blind["ruda"] || !blind["eden"] {
		t.Errorf("blind are %v, want eden, which was removed from the group", blind)
	}
	before := len(m.Requests(telegramtest.Match{Method: "getChatMember"}))
	m.write(m.forum, "@ruda_bot again")
	m.fact("ruda", "created <@"+id(m.ruda.User)+"> again")
	if after := len(m.Requests(telegramtest.Match{Method: "getChatMember"})); after != before {
		t.Errorf("memberships were requested %d times more, want no more", after-before)
	}
}

func TestOtherFormsOfIdsAreRefused(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	chat := m.forum.ID
	for _, place := range []string{fmt.Sprintf("telegram:-0%d", -chat), "telegram:+5", "telegram:-0", fmt.Sprintf("telegram:%d:topic:07", chat), fmt.Sprintf("TELEGRAM:%d", chat)} {
		if _, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: place, Content: "x"}); err == nil {
			t.Errorf("a post to %s is accepted", place)
		}
	}
	if _, err := m.Send(m.ctx, channel.Post{AccountID: "ruda", ChannelID: placeID(m.forum), Content: "x", ReplyTo: placeID(m.forum) + ":007"}); err == nil {
		t.Error("a reply to another form of an id is accepted")
	}
}

// Names that are shown instead of mentions do not make a text longer than Telegram allows.
func TestNamesDoNotMakeATextTooLong(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start()
	m.write(m.private, "so that bora is known")
	m.fact("ruda", "created so that bora is known")
	long := m.AddPerson("Bora with a name of fifty characters, more or less")
	long.Join(m.forum)
	if _, err := long.Write(m.forum, "hi"); err != nil {
		t.Fatal(err)
	}
	m.fact("eden", "created hi")
	text := ""
	for range 4096 / (len(id(long.User)) + 3) {
		text += "<@" + id(long.User) + ">"
	}
	m.send(channel.Post{AccountID: "ruda", ChannelID: placeID(m.forum), Content: text})
}
