package discordtest_test

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/bwmarrin/discordgo"

	"github.com/pronto-lab/openclawd/discord/discordtest"
)

// lists are members that are lists on Discord's wire, never null: clients such as discord.js go through them without a look.
var lists = map[string]bool{
	"embeds": true, "components": true, "attachments": true, "mentions": true, "mention_roles": true, "roles": true, "members": true, "threads": true,
	"channels": true, "presences": true, "options": true, "reactions": true, "permission_overwrites": true, "guilds": true, "entitlements": true,
}

// judge looks through what was told: lists are lists, interactions say who has installed the application, and roles have their colors.
func judge(t *testing.T, where string, told any) {
	t.Helper()
	switch v := told.(type) {
	case []any:
		for _, one := range v {
			judge(t, where, one)
		}
	case map[string]any:
		for name, member := range v {
			if _, is := member.([]any); lists[name] && !is {
				t.Errorf("%s: %s is %v, want a list", where, name, member)
			}
			judge(t, where+"."+name, member)
		}
		if m, is := v["interaction_metadata"].(map[string]any); is && m["authorizing_integration_owners"] == nil {
			t.Errorf("%s: %v has no authorizing_integration_owners", where, m)
		}
		if _, is := v["app_permissions"]; is && v["authorizing_integration_owners"] == nil {
			t.Errorf("%s: an interaction has no authorizing_integration_owners", where)
		}
		if _, is := v["mentionable"]; is {
			if colors, has := v["colors"].(map[string]any); !has || colors["primary_color"] == nil {
				t.Errorf("%s: the role %v has no colors", where, v)
			}
		}
	}
}

// What other clients than ours read is there, in what REST answers and in what the gateway tells.
func TestShapesAreThoseOfDiscord(t *testing.T) {
	t.Parallel()
	m := newTeam(t, discordtest.Options{})
	ctx := m.context()
	m.guild.Grant(m.ruda.ID, discordtest.ManageChannels)
	ruda := m.client(m.ruda, intents)
	var mu sync.Mutex
	kinds := map[string]int{}
	ruda.AddHandler(func(_ *discordgo.Session, e *discordgo.Event) {
		var told any
		if e.Operation != 0 || json.Unmarshal(e.RawData, &told) != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		kinds[e.Type]++
		judge(t, e.Type, told)
	})
	ruda.AddHandler(func(s *discordgo.Session, i *discordgo.InteractionCreate) {
		kind := discordgo.InteractionResponseChannelMessageWithSource
		if i.Type == discordgo.InteractionMessageComponent {
			kind = discordgo.InteractionResponseUpdateMessage
		}
		if err := s.InteractionRespond(i.Interaction, &discordgo.InteractionResponse{Type: kind,
			Data: &discordgo.InteractionResponseData{Content: "done"}}); err != nil {
			t.Error(err)
		}
	})
	ruda.start()
	ask := func(method, path, body string) map[string]any {
		t.Helper()
		a := m.ask(m.ruda, method, path, body)
		if a.status >= 300 {
			t.Fatalf("%s %s: %d %s", method, path, a.status, a.body)
		}
		var told any
		if err := json.Unmarshal(a.body, &told); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, a.body)
		}
		judge(t, method+" "+path, told)
		object, _ := told.(map[string]any)
		return object
	}
	messages := "/channels/" + m.channel.ID + "/messages"
	m.post(m.channel.ID, "hello")
	first := ask("POST", messages, `{"content":"x"}`)["id"].(string)
	for _, body := range []string{`{"content":"y","embeds":null,"components":null,"attachments":null}`, `{"embeds":[{"title":"t"}]}`, `{"embeds":[]}`} {
		ask("PATCH", messages+"/"+first, body)
	}
	ask("POST", messages, `{"content":"a reply","embeds":null,"message_reference":{"message_id":"`+first+`"}}`)
	ask("POST", messages+"/"+first+"/threads", `{"name":"a thread"}`)
	ask("GET", "/guilds/"+m.guild.ID, "")
	ask("GET", "/guilds/"+m.guild.ID+"/roles", "")
	ask("PUT", "/applications/"+m.ruda.ID+"/guilds/"+m.guild.ID+"/commands", `[{"name":"ask","description":"asks"}]`)
	slash, err := m.bora.Slash(m.channel.ID, m.ruda.ID, "ask")
	must(t, slash, err)
	if err := m.Until(ctx, func() bool { return m.state(slash).Original != nil }); err != nil {
		t.Fatal(err)
	}
	_, err = ruda.ChannelMessageSendComplex(m.channel.ID, &discordgo.MessageSend{Content: "approve?", Components: button("approve")})
	must(t, 0, err)
	all := m.Messages(m.channel.ID)
	clicked, err := m.bora.Click(all[len(all)-1], "approve")
	must(t, clicked, err)
	if err := m.Until(ctx, func() bool { return m.state(clicked).Answer != 0 }); err != nil {
		t.Fatal(err)
	}
	ask("GET", messages, "")
	m.post(m.channel.ID, "the last")
	for _, kind := range []string{"READY", "GUILD_CREATE", "MESSAGE_CREATE", "MESSAGE_UPDATE", "INTERACTION_CREATE", "THREAD_CREATE"} {
		if err := m.Until(ctx, func() bool { mu.Lock(); defer mu.Unlock(); return kinds[kind] > 0 }); err != nil {
			t.Errorf("%s was not told: %v", kind, err)
		}
	}
}
