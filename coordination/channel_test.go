package coordination_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
)

func TestIdsOfChannels(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]coordination.ChatID{
		"1200000000000000001":                  {Channel: "discord", Chat: "1200000000000000001"},
		"telegram:-100123":                     {Channel: "telegram", Chat: "-100123"},
		"telegram:-100123:topic:7":             {Channel: "telegram", Chat: "-100123", Thread: "7"},
		"telegram:-100123:55":                  {Channel: "telegram", Chat: "-100123", Message: "55"},
		"slack:c0123:thread:1700000000.000100": {Channel: "slack", Chat: "c0123", Thread: "1700000000.000100"},
		"slack:c0123:1700000000.000100":        {Channel: "slack", Chat: "c0123", Message: "1700000000.000100"},
	} {
		got, ok := coordination.ParseChatID(text)
		if !ok || got != want || got.String() != text || coordination.ChannelOf(text) != want.Channel {
			t.Errorf("%s is %+v (%t), written %q, want %+v", text, got, ok, got, want)
		}
	}
}

// A made-up id is of the channel whose name it begins with, or of Discord: it reaches no stream, table
// row or session of another channel or family.
func TestMadeUpIdsReachNothingElse(t *testing.T) {
	t.Parallel()
	for text, stream := range map[string]string{
		"discord:5":         "discord/discord:5", // not the message 5
		"work:1":            "discord/work:1",
		"Telegram:-1:5":     "discord/Telegram:-1:5",
		"telegram:":         "",
		"telegram":          "",
		"telegram:-1:5:6":   "",
		"telegram:-1::5":    "",
		"telegram:-1:topic": "",
		"slack:C1:5":        "", // not in lower case: the session's key would name another place
		"telegram:-1/5":     "",
		"":                  "",
	} {
		id, ok := coordination.ParseChatID(text)
		if got := coordination.MessageStream(text); stream != "" && got != stream || !strings.HasPrefix(got, id.Channel+"/") {
			t.Errorf("the message %q is in stream %s, want %s", text, got, stream)
		}
		if (stream != "") != ok {
			t.Errorf("%q is an id: %t", text, ok)
		}
		for _, c := range coordination.Channels() {
			if c.IsPlaceID(text) || c.IsThreadOf(text, text) || c.IsMessageIn(text, text) {
				t.Errorf("%q is taken for an id of %s", text, c.Name)
			}
		}
	}
	telegram, _ := coordination.ChannelNamed("Telegram")
	for _, c := range []struct {
		is   bool
		text string
	}{
		{telegram.IsPlaceID("telegram:-1:5"), "a message is a place"},
		{telegram.IsThreadOf("telegram:-2:topic:5", "telegram:-1"), "a thread of another chat is in the place"},
		{telegram.IsMessageIn("telegram:-2:5", "telegram:-1"), "a message of another chat is in the place"},
		{telegram.IsMessageIn("telegram:-1:topic:5", "telegram:-1"), "a thread is a message"},
		{telegram.IsPlaceID("slack:c1"), "a place of another channel is a place"},
		{telegram.IsUserID("U1"), "letters are a user"},
	} {
		if c.is {
			t.Error(c.text)
		}
	}
	if !telegram.IsMessageIn("telegram:-1:5", "telegram:-1:topic:7") || !telegram.IsThreadOf("telegram:-1:topic:7", "telegram:-1") || !telegram.IsUserID("42") {
		t.Error("ids of one chat do not belong together")
	}
}

// A second way to write an id is refused: it would be another place to guards and sessions.
func TestOtherFormsOfIdsAreRefused(t *testing.T) {
	t.Parallel()
	telegram, _ := coordination.ChannelNamed("telegram")
	slack, _ := coordination.ChannelNamed("slack")
	for _, id := range []string{"telegram:-0", "telegram:0", "telegram:007", "telegram:-0100", "telegram:+5", "telegram:1.0", "telegram:1.02", "telegram:1.-2",
		"telegram:-1:topic:07", "telegram:-1:topic:-7", "telegram:-1:topic:0", "telegram:9999999999999999999999", "telegram:x", "telegram:-1x"} {
		if telegram.IsPlaceID(id) {
			t.Errorf("%q is taken for a place", id)
		}
	}
	for _, id := range []string{"slack:0123", "slack:c1-2", "slack:c1:thread:1700000000.1", "slack:c1:thread:01700000000.000100", "slack:c1:thread:x", "slack:C1", "slack:-1"} {
		if slack.IsPlaceID(id) {
			t.Errorf("%q is taken for a place", id)
		}
	}
	for _, id := range []string{"telegram:-1:007", "telegram:-1:0", "telegram:-1:-5", "telegram:-1:h12", "telegram:-1:x"} {
		if telegram.IsMessageIn(id, "telegram:-1") {
			t.Errorf("%q is taken for a message", id)
		}
	}
	if slack.IsMessageIn("slack:c1:5", "slack:c1") || slack.IsMessageIn("slack:c1:01700000000.000100", "slack:c1") {
		t.Error("another form of a timestamp is taken for a message")
	}
	for _, id := range []string{"telegram:-1001234567890", "telegram:7000001009.7000002018", "telegram:-100:topic:7"} {
		if !telegram.IsPlaceID(id) {
			t.Errorf("%q is refused", id)
		}
	}
	if !slack.IsPlaceID("slack:c0123456789") || !slack.IsPlaceID("slack:c1:thread:1700000000.000100") || !slack.IsMessageIn("slack:c1:1700000000.000100", "slack:c1") ||
		!telegram.IsMessageIn("telegram:-1:h0123456789abcdef01234567", "telegram:-1") {
		t.Error("an id in the channel's own form is refused")
	}
}

// Keys of sessions and places of channels lead to each other, as OpenClaw writes the keys.
func TestKeysOfPlaces(t *testing.T) {
	t.Parallel()
	for place, want := range map[string]string{
		"1200000000000000001":                 "agent:x:discord:channel:1200000000000000001",
		"telegram:-100123":                    "agent:x:telegram:group:-100123",
		"telegram:-100123:topic:7":            "agent:x:telegram:group:-100123:topic:7",
		"slack:c123":                          "agent:x:slack:channel:c123",
		"slack:c123:thread:1700000000.000100": "agent:x:slack:channel:c123:thread:1700000000.000100",
	} {
		key := coordination.PlaceKey("x", place, false)
		read, err := coordination.ParseSessionKey(key.String())
		if key.String() != want || err != nil || read != key || key.Place() != place {
			t.Errorf("%s has the session %s (%v), which is in %q, want %s", place, key, err, key.Place(), want)
		}
	}
	if got := coordination.PlaceKey("x", "slack:g1", true).String(); got != "agent:x:slack:group:g1" {
		t.Errorf("the session of several people is %s", got)
	}
	for _, key := range []string{"agent:x:main", "agent:x:telegram:direct:42", "agent:x:mattermost:channel:1", "main"} {
		k, err := coordination.ParseSessionKey(key)
		if err != nil || k.Place() != "" {
			t.Errorf("%s is in the place %q, %v", key, k.Place(), err)
		}
	}
}

// Two messages have one stream only if they are one message; the stream tells the name in the tables.
func TestStreamsOfMessagesAreTheirOwn(t *testing.T) {
	t.Parallel()
	part := rapid.StringMatching(`-?[a-z0-9]{1,4}`)
	id := rapid.Custom(func(t *rapid.T) string {
		return rapid.OneOf(part, rapid.Map(part, func(s string) string { return "discord:" + s }),
			rapid.Custom(func(t *rapid.T) string { return "telegram:" + part.Draw(t, "chat") + ":" + part.Draw(t, "message") }),
			rapid.Custom(func(t *rapid.T) string { return "slack:" + part.Draw(t, "chat") + ":" + part.Draw(t, "message") })).Draw(t, "id")
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := id.Draw(t, "a"), id.Draw(t, "b")
		sa, sb := coordination.MessageStream(a), coordination.MessageStream(b)
		if (sa == sb) != (a == b) {
			t.Fatalf("%s and %s are in %s and %s", a, b, sa, sb)
		}
		if name, ok := coordination.MessageOfStream(sa); !ok || name != a {
			t.Fatalf("%s is called %q (%t) by its stream %s", a, name, ok, sa)
		}
	})
	for _, stream := range []string{"work/1", "thread/1", "log", "discord/", "Discord/1", "discord/telegram:-1:5", ""} {
		if id, ok := coordination.MessageOfStream(stream); ok {
			t.Errorf("%s is the stream of a message %q", stream, id)
		}
	}
}

func TestCharactersAreCountedAsTheChannelDoes(t *testing.T) {
	t.Parallel()
	discord, _ := coordination.ChannelNamed("")
	telegram, _ := coordination.ChannelNamed("telegram")
	if a, b := discord.Length("가😀"), telegram.Length("가😀"); a != 2 || b != 3 {
		t.Errorf("Discord counts %d and Telegram %d, want 2 and 3", a, b)
	}
	for limit, want := range map[int]string{0: "", 1: "가", 2: "가", 3: "가😀", 4: "가😀", 5: "가😀😀", 9: "가😀😀"} {
		if got := telegram.Head("가😀😀", limit); got != want {
			t.Errorf("%d characters of Telegram are %q, want %q", limit, got, want)
		}
	}
	if got := discord.Head("가😀😀", 2); got != "가😀" {
		t.Errorf("2 characters of Discord are %q", got)
	}
}
