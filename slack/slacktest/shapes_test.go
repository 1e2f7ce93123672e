package slacktest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/slack/slacktest"
)

// What @slack/bolt reads from what an app is told: without it, it finds no authorization, no conversation or no listener.
var shapes = map[string][]string{
	"events_api": {"type", "team_id", "api_app_id", "event_id", "event_time", "is_ext_shared_channel", "authorizations.0.team_id",
		"authorizations.0.user_id", "authorizations.0.is_bot", "authorizations.0.is_enterprise_install", "event.type", "event.channel", "event.ts"},
	"interactive": {"type", "team.id", "user.id", "user.team_id", "api_app_id", "channel.id", "message.ts", "container.message_ts", "trigger_id",
		"response_url", "is_enterprise_install", "actions.0.action_id", "actions.0.block_id", "actions.0.action_ts", "actions.0.value"},
	"slash_commands": {"team_id", "channel_id", "channel_name", "user_id", "user_name", "command", "text", "api_app_id", "is_enterprise_install",
		"response_url", "trigger_id"},
}

func TestShapesAreThoseOfSlack(t *testing.T) {
	t.Parallel()
	l := newLab(t, slacktest.Options{})
	l.connect(l.ruda)
	_, ts, _, err := l.client(l.ruda).SendMessageContext(l.ctx, l.channel.ID, textOption("press"), buttonOption("go"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.bora.Press(l.channel.ID, ts, "go"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.bora.Slash(l.channel.ID, "/ask", "it"); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, d := range l.Deliveries(l.ruda.ID) {
		seen[d.Kind] = true
		var told any
		if err := json.Unmarshal(d.Payload, &told); err != nil {
			t.Fatal(err)
		}
		for _, path := range shapes[d.Kind] {
			if !has(told, strings.Split(path, ".")) {
				t.Errorf("%s has no %s: %s", d.Kind, path, d.Payload)
			}
		}
	}
	if len(seen) != len(shapes) {
		t.Errorf("the app was told %v, want one of each kind", seen)
	}
	auth, err := l.client(l.ruda).AuthTestContext(l.ctx)
	if err != nil || auth.UserID != l.ruda.UserID || auth.BotID != l.ruda.BotID || auth.Header.Get("X-OAuth-Scopes") == "" {
		t.Errorf("auth.test answers %+v, %v, want the bot and its scopes", auth, err)
	}
}

// has reports whether a value has a member at a path; "0" is the first of a list.
func has(v any, path []string) bool {
	if len(path) == 0 {
		return v != nil
	}
	if list, is := v.([]any); is {
		return len(list) > 0 && has(list[0], path[1:])
	}
	object, _ := v.(map[string]any)
	member, is := object[path[0]]
	return is && has(member, path[1:])
}
