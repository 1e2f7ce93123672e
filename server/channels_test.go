package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
)

// awaitAnswer waits until an answer of the API contains all of some texts.
func (r *reloading) awaitAnswer(t *testing.T, path string, texts ...string) {
	t.Helper()
	body, again := "", time.NewTicker(10*time.Millisecond)
	defer again.Stop()
	for late := time.After(testscale.Patience); ; {
		_, body = r.answers(t, http.MethodGet, path)
		lacks := ""
		for _, text := range texts {
			if !strings.Contains(body, text) {
				lacks = text
			}
		}
		if lacks == "" {
			return
		}
		select {
		case <-late:
			t.Fatalf("%s lacks %s:\n%s", path, lacks, body)
		case <-again.C:
		}
	}
}

// channelSession is what clients read of a session that has a channel.
type channelSession struct {
	Key, Channel, ChatType, LastChannel, LastTo, LastAccountID string
	DeliveryContext                                            struct{ Channel, To, AccountID, ThreadID string }
}

// sessionIn waits for a session of a channel, as clients see it.
func (r *reloading) sessionIn(t *testing.T, key string) channelSession {
	t.Helper()
	c, again := connect(t, gatewayURL(r.gateway.listener.Addr())), time.NewTicker(10*time.Millisecond)
	defer again.Stop()
	for late := time.After(testscale.Patience); ; {
		list := calls[struct{ Sessions []channelSession }](t, c, "sessions.list", map[string]any{})
		for _, s := range list.Sessions {
			if s.Key == key && s.LastChannel != "" {
				return s
			}
		}
		select {
		case <-late:
			t.Fatalf("no session %s in %+v", key, list.Sessions)
		case <-again.C:
		}
	}
}

// A client posts in Slack once per key, also after a restart; the post is counted and listed as Slack's, and what people say there is in
// a session of Slack.
func TestAClientSendsToSlack(t *testing.T) {
	t.Parallel()
	team := startSlackTeam(t, hasHeard)
	c := connect(t, gatewayURL(team.gateway.listener.Addr()))
	ask := params("channel", "slack", "to", team.channel.ID, "message", "배포가 **끝났습니다**", "agentId", "eden", "idempotencyKey", "s/1")
	first := calls[sentAnswer](t, c, "send", ask)
	place := "slack:" + strings.ToLower(team.channel.ID)
	posted := team.shows(team.channel.ID, "배포가 *끝났습니다*")
	if posted.User != team.eden.UserID || first.Channel != "slack" || first.ChannelID != place || first.Status != "sent" || first.MessageID != place+":"+posted.TS {
		t.Errorf("%+v for %+v, want eden's post in the channel", first, posted)
	}
	threaded := params("to", place, "threadId", posted.TS, "message", "자세히", "accountId", "ruda", "idempotencyKey", "s/2")
	if got := calls[sentAnswer](t, c, "send", threaded); got.ChannelID != place+":thread:"+posted.TS {
		t.Errorf("%+v, want the thread", got)
	}
	if reply := team.shows(team.channel.ID, "자세히"); reply.ThreadTS != posted.TS {
		t.Errorf("%+v, want ruda's post in the thread", reply)
	}
	if got := calls[sentAnswer](t, c, "send", params("channel", "slack", "to", team.bora.ID, "message", "직접", "agentId", "eden", "idempotencyKey", "s/3")); got.Status != "sent" {
		t.Errorf("%+v, want a post to the person", got)
	}
	if direct := team.shows(team.bora.Conversation(team.eden.UserID).ID, "직접"); direct.User != team.eden.UserID {
		t.Errorf("%+v, want eden's post to the person", direct)
	}
	team.awaitAnswer(t, "/metrics", `openclawd_channel_deliveries_total{channel="slack",outcome="done",purpose="send"} 3`,
		`openclawd_channel_bot_up{account="ruda",channel="slack"} 1`, `openclawd_channel_undelivered{channel="slack"} 0`)
	if _, metrics := team.answers(t, http.MethodGet, "/metrics"); strings.Contains(metrics, `openclawd_discord_deliveries_total{`) {
		t.Error("posts to Slack are counted as Discord's")
	}
	team.awaitAnswer(t, "/api/channels/slack/posts", `"channel":"slack","messageId":"`+first.MessageID+`"`)
	if _, posts := team.answers(t, http.MethodGet, "/api/discord/posts"); !strings.Contains(posts, `"posts":[]`) {
		t.Errorf("/api/discord/posts: %s, want none", posts)
	}
	root := team.write(team.bora.Post(team.channel.ID, team.ruda.Mention()+" hello"))
	team.shows(team.channel.ID, "*ruda* has heard")
	team.awaitAnswer(t, "/api/routing/"+place+":"+root.TS, `"channel":"slack"`, `"link":"https://lab.slack.com/archives/`+team.channel.ID+"/p"+strings.ReplaceAll(root.TS, ".", ""))
	s := team.sessionIn(t, "agent:ruda:"+strings.Replace(place, "slack:", "slack:channel:", 1))
	if s.Channel != "slack" || s.LastChannel != "slack" || s.DeliveryContext.Channel != "slack" || s.DeliveryContext.To != "channel:"+place || s.LastAccountID != "ruda" {
		t.Errorf("%+v, want the session to be in Slack", s)
	}
	status := calls[struct{ ChannelOrder []string }](t, c, "channels.status", map[string]any{})
	if fmt.Sprint(status.ChannelOrder) != "[slack]" {
		t.Errorf("channels are %v, want Slack alone", status.ChannelOrder)
	}
	before := len(team.slack.Messages(team.channel.ID))
	team.restart(t, nil)
	ask["message"] = "changed"
	again := calls[sentAnswer](t, connect(t, gatewayURL(team.gateway.listener.Addr())), "send", ask)
	if again.MessageID != first.MessageID || again.Channel != "slack" || len(team.slack.Messages(team.channel.ID)) != before {
		t.Errorf("after a restart the key is answered with %+v, want %+v and no other post", again, first)
	}
}

// A client posts in a topic of Telegram, and the runs that it asks for answer there.
func TestAClientSendsToTelegram(t *testing.T) {
	t.Parallel()
	team := startTelegramTeam(t, hasHeard)
	c := connect(t, gatewayURL(team.gateway.listener.Addr()))
	topic := team.forum.OpenTopic("plans")
	place := fmt.Sprint("telegram:", team.forum.ID)
	team.awaitAnswer(t, "/api/channels", `"channel":"telegram","title":"Telegram"`, `"botsReady":2`)
	ask := params("channel", "telegram", "to", fmt.Sprint(team.forum.ID, ":topic:", topic), "message", "배포가 끝났습니다", "accountId", "eden", "idempotencyKey", "s/1")
	got := calls[sentAnswer](t, c, "send", ask)
	posted := team.shows(team.forum, "배포가 끝났습니다")
	if posted.ThreadID != topic || posted.From.ID != team.eden.ID || got.Channel != "telegram" || got.Status != "sent" || got.MessageID != fmt.Sprint(place, ":", posted.MessageID) {
		t.Errorf("%+v for %+v, want eden's post in the topic", got, posted)
	}
	refused := refusalBy(t, c, "send", params("channel", "discord", "to", "7", "message", "x", "idempotencyKey", "s/2"))
	if !strings.Contains(refused.Message, "discord is not configured") {
		t.Errorf("%+v, want that Discord is not configured", refused)
	}
	deliver := map[string]any{"message": "보고해줘", "agentId": "ruda", "deliver": true, "replyChannel": "telegram", "replyTo": fmt.Sprint(team.forum.ID), "idempotencyKey": "run/1"}
	if _, err := c.Call(t.Context(), "agent", deliver); err != nil {
		t.Fatal(err)
	}
	if answer := team.shows(team.forum, "ruda has heard"); answer.From.ID != team.ruda.ID {
		t.Errorf("%+v, want ruda's answer in the group", answer)
	}
	written := team.write(team.forum, telegramtest.Draft{Text: "@eden_bot, hello", Topic: topic})
	team.awaitAnswer(t, fmt.Sprint("/api/routing/", place, ":", written.MessageID), `"channel":"telegram"`,
		fmt.Sprint(`"link":"https://t.me/c/`, strings.TrimPrefix(fmt.Sprint(team.forum.ID), "-100"), "/", topic, "/", written.MessageID))
	s := team.sessionIn(t, fmt.Sprint("agent:eden:telegram:group:", team.forum.ID, ":topic:", topic))
	if s.Channel != "telegram" || s.ChatType != "group" || s.DeliveryContext.To != "channel:"+place || s.DeliveryContext.ThreadID != fmt.Sprint(place, ":topic:", topic) {
		t.Errorf("%+v, want the session to be in the topic", s)
	}
	team.awaitAnswer(t, "/api/health", `"channels":{"telegram":{"bots":2,"botsReady":2`, `"discord":{"bots":0,"botsReady":0,"accounts":[]}`)
}
