package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// postbox is the Discord of a fixture: what becomes of a post is what the test says. It knows the account b alone.
type postbox struct {
	mu    sync.Mutex
	posts []delivery.Post
	ends  map[string]delivery.Sent // by the text that is posted
	bots  []health.Bot
}

func (p *postbox) Check(m delivery.Post) error {
	switch {
	case m.AccountID != "" && m.AccountID != "b":
		return &delivery.Refusal{Field: "accountId", Value: m.AccountID, HintText: "name one from channels.discord.accounts: b"}
	case m.To == "channel:404":
		return &delivery.Refusal{Field: "channelId", Value: "404", HintText: "give another one"}
	}
	return nil
}

func (p *postbox) Converse(_ context.Context, m delivery.Post, user string) (string, error) {
	switch user {
	case "404":
		return "", &delivery.Refusal{Field: "channelId", Value: user, HintText: "name another person"}
	case "503":
		return "", &tool.Error{Code: tool.CodeUnavailable, Text: "it does not answer", Hint: "later"}
	}
	return "channel:" + coordination.ChatID{Channel: m.Channel, Chat: map[string]string{coordination.Discord: "9", coordination.Slack: "d0ab",
		coordination.Telegram: user + ".8"}[m.Channel]}.String(), p.Check(m)
}

func (p *postbox) Send(_ context.Context, m delivery.Post) error {
	if err := p.Check(m); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.posts = append(p.posts, m)
	return nil
}

func (p *postbox) Sent(_ context.Context, key string) (delivery.Sent, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.posts {
		if m.Key == key {
			return p.ends[m.Text], true, nil
		}
	}
	return delivery.Sent{}, false, nil
}

func (p *postbox) Await(ctx context.Context, key string) (delivery.Sent, error) {
	s, _, err := p.Sent(ctx, key)
	if err == nil && !s.Over {
		<-ctx.Done()
		err = ctx.Err()
	}
	return s, err
}

func (p *postbox) Bots() []health.Bot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.bots)
}

// store is where the files of a fixture are kept. It has what is not refused by its name.
func store(_ context.Context, agent string, p *delivery.Post, source string) (delivery.File, error) {
	switch source {
	case "outside":
		return delivery.File{}, &tool.Error{Code: tool.CodeOutside, Text: "it is outside", Hint: "give another"}
	case "large":
		return delivery.File{}, &tool.Error{Code: tool.CodeTooLarge, Text: "it is too large", Hint: "give another"}
	case "gone":
		return delivery.File{}, &tool.Error{Code: tool.CodeUnavailable, Text: "it cannot be fetched", Hint: "later"}
	case "slow":
		return delivery.File{}, fmt.Errorf("fetch: %w", context.DeadlineExceeded)
	case "unknown account":
		return delivery.File{}, &delivery.Refusal{Field: "accountId", HintText: "name one"}
	}
	return delivery.File{Name: source, Type: agent + " in " + p.Channel, Size: 1}, nil
}

// posting is a gateway that posts.
func posting(t *testing.T) (*bundle, *postbox) {
	t.Helper()
	b, box := setup(t), &postbox{ends: map[string]delivery.Sent{}}
	b.posts, b.bots, b.media = box, box.Bots, store
	b.configure(t, withDiscord)
	b.reopen(t)
	return b, box
}

// A post is answered with its place, however often it is requested, and is posted once.
func TestSendAnswersWhereItStands(t *testing.T) {
	t.Parallel()
	b, box := posting(t)
	box.ends["hello"] = delivery.Sent{Over: true, State: delivery.Done, AccountID: "b", ChannelID: "7", MessageIDs: []string{"70"}}
	box.ends["long"] = delivery.Sent{Over: true, State: delivery.Done, ChannelID: "7", ThreadID: "8", MessageIDs: []string{"80", "81"}}
	for _, c := range []struct{ params, wanted string }{
		{`{"to":"channel:7","message":" hello ","idempotencyKey":"k1"}`,
			`{"runId":"k1","messageId":"70","channel":"discord","channelId":"7","messageIds":["70"],"status":"sent"}`},
		{`{"to":"channel:9","message":"changed","idempotencyKey":"k1"}`,
			`{"runId":"k1","messageId":"70","channel":"discord","channelId":"7","messageIds":["70"],"status":"sent"}`},
		{`{"to":"<#7>","message":"long","channel":"Discord","threadId":"8","accountId":"b","sessionKey":"main","agentId":"eden","replyToId":"5","idempotencyKey":"k2"}`,
			`{"runId":"k2","messageId":"81","channel":"discord","channelId":"8","messageIds":["80","81"],"status":"sent"}`},
		{`{"to":"7","channel":"","message":"hello","mediaUrl":"","mediaUrls":[],"gifPlayback":false,"agentId":"EDEN","idempotencyKey":"k3"}`,
			`{"runId":"k3","messageId":"70","channel":"discord","channelId":"7","messageIds":["70"],"status":"sent"}`},
	} {
		if got := string(b.answer(t, "send", c.params)); got != c.wanted {
			t.Errorf("%s\ngot  %s\nwant %s", c.params, got, c.wanted)
		}
	}
	posted := []delivery.Post{
		{Channel: "discord", Key: "k1", To: "channel:7", Text: "hello"},
		{Channel: "discord", Key: "k2", AgentID: "eden", AccountID: "b", To: "channel:7", ThreadID: "8", ReplyTo: "5", Text: "long", SessionKey: "agent:eden:main"},
		{Channel: "discord", Key: "k3", AgentID: "eden", To: "channel:7", Text: "hello"},
	}
	if diff := cmp.Diff(posted, box.posts); diff != "" {
		t.Errorf("posted (-want +got):\n%s", diff)
	}
}

const withThree = `{agents: {list: [{id: 'eden', default: true}]}, channels: {
	discord: {accounts: {b: {token: 'MTAwMDAwMDAwMDAwMDAwMDAx.GabcdE.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'}}},
	telegram: {accounts: {t: {botToken: '7000001:AAxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'}}},
	slack: {accounts: {s: {botToken: 'xoxb-1-1-x', appToken: 'xapp-1-A-1-x'}}}}}`

// Places, threads and messages have the forms that people copy from each service, and reach the post as ids of the log.
func TestSendReachesEveryChannel(t *testing.T) {
	t.Parallel()
	b, box := posting(t)
	b.configure(t, withThree)
	box.ends["x"] = delivery.Sent{Over: true, State: delivery.Done, Channel: "slack", ChannelID: "slack:c0a", MessageIDs: []string{"slack:c0a:1.000001"}}
	for i, c := range []struct {
		params string
		wanted delivery.Post
	}{
		{`"channel":"discord","to":"channel:7"`, delivery.Post{Channel: "discord", To: "channel:7"}},
		{`"channel":"Telegram","to":"-1001234","threadId":"7","replyToId":"55"`, delivery.Post{Channel: "telegram", To: "channel:telegram:-1001234",
			ThreadID: "telegram:-1001234:topic:7", ReplyTo: "telegram:-1001234:55"}},
		{`"to":"telegram:group:-1001234:topic:7"`, delivery.Post{Channel: "telegram", To: "channel:telegram:-1001234", ThreadID: "telegram:-1001234:topic:7"}},
		{`"to":"channel:telegram:7.8"`, delivery.Post{Channel: "telegram", To: "channel:telegram:7.8"}},
		{`"channel":"slack","to":"channel:C0AB","threadId":"1700000000.000100"`, delivery.Post{Channel: "slack", To: "channel:slack:c0ab",
			ThreadID: "slack:c0ab:thread:1700000000.000100"}},
		{`"channel":"slack","to":"<#C0AB|general>","replyToId":"slack:c0ab:1700000000.000100"`, delivery.Post{Channel: "slack", To: "channel:slack:c0ab",
			ReplyTo: "slack:c0ab:1700000000.000100"}},
		{`"to":"slack:c0ab:thread:1700000000.000100"`, delivery.Post{Channel: "slack", To: "channel:slack:c0ab", ThreadID: "slack:c0ab:thread:1700000000.000100"}},
		{`"channel":"discord","to":"user:7"`, delivery.Post{Channel: "discord", To: "channel:9"}},
		{`"channel":"discord","to":"<@!7>"`, delivery.Post{Channel: "discord", To: "channel:9"}},
		{`"to":"discord:7"`, delivery.Post{Channel: "discord", To: "channel:9"}},
		{`"channel":"telegram","to":"7000"`, delivery.Post{Channel: "telegram", To: "channel:telegram:7000.8"}},
		{`"to":"telegram:7000"`, delivery.Post{Channel: "telegram", To: "channel:telegram:7000.8"}},
		{`"channel":"slack","to":"U0AB","threadId":"1700000000.000100"`, delivery.Post{Channel: "slack", To: "channel:slack:d0ab", ThreadID: "slack:d0ab:thread:1700000000.000100"}},
		{`"to":"slack:user:U0AB","replyToId":"1700000000.000100"`, delivery.Post{Channel: "slack", To: "channel:slack:d0ab", ReplyTo: "slack:d0ab:1700000000.000100"}},
	} {
		c.wanted.Key, c.wanted.Text = fmt.Sprint("k", i), "x"
		if got := string(b.answer(t, "send", `{"message":"x","idempotencyKey":"`+c.wanted.Key+`",`+c.params+`}`)); !strings.Contains(got, `"channel":"slack"`) {
			t.Errorf("%s: %s, want the channel that the log names", c.params, got)
		}
		if diff := cmp.Diff(c.wanted, box.posts[len(box.posts)-1]); diff != "" {
			t.Errorf("%s posted (-want +got):\n%s", c.params, diff)
		}
	}
	for _, c := range []struct{ params, field, code, message string }{
		{`"to":"7"`, "channel", "channel_required", "Channel is required when multiple channels are configured: discord, telegram, slack"},
		{`"channel":"telegram","to":"@eden"`, "to", "", "invalid send params: to: no Telegram channel"},
		{`"channel":"telegram","to":"07"`, "to", "", "invalid send params: to: no Telegram channel: 07"},
		{`"channel":"telegram","to":"C0AB"`, "to", "", "invalid send params: to: no Telegram channel"},
		{`"channel":"slack","to":"user:general"`, "to", "", "invalid send params: to: no Slack channel"},
		{`"channel":"slack","to":"#general"`, "to", "", "invalid send params: to: no Slack channel"},
		{`"channel":"slack","to":"telegram:-1001234"`, "to", "", "invalid send params: to: no Slack channel"},
	} {
		b.refusesToSend(t, "no", c.params, c.field, c.code, c.message)
	}
}

// refusesToSend sends with params and wants it refused with a field, a code and a message that begins so.
func (b *bundle) refusesToSend(t *testing.T, key, params, field, code, message string) {
	t.Helper()
	got := b.refused(t, "send", `{"message":"hi","idempotencyKey":"`+key+`",`+params+`}`)
	var details struct{ Field, Code string }
	text, err := json.Marshal(got.Details)
	if err = errors.Join(err, json.Unmarshal(text, &details)); err != nil {
		t.Fatal(err)
	}
	if got.Code != protocol.CodeInvalidRequest || !strings.HasPrefix(got.Message, message) || details.Field != field || details.Code != code {
		t.Errorf("%s: %s %q %s, want %q of %s %s", params, got.Code, got.Message, text, message, field, code)
	}
}

// Every configured channel stands in channels.status, health and status, with the accounts of its own.
func TestEveryChannelHasItsStatus(t *testing.T) {
	t.Parallel()
	b, box := posting(t)
	b.configure(t, withThree)
	box.bots = []health.Bot{{Channel: "discord", AccountID: "b", State: health.BotReady, UserID: "1"}, {Channel: "telegram", AccountID: "t", State: health.BotFailed, Text: "no", Hint: "yes"},
		{Channel: "slack", AccountID: "b", State: health.BotReady, UserID: "U9"}}
	got := string(b.answer(t, "channels.status", `{"probe":true}`))
	for _, want := range []string{`"channelOrder":["discord","telegram","slack"]`, `"channelLabels":{"discord":"Discord","slack":"Slack","telegram":"Telegram"}`,
		`"telegram":[{"accountId":"t","enabled":true,"configured":true,"running":true,"connected":false,"lastStartAt":null,"lastStopAt":null,"lastError":"no; yes"`,
		`"slack":[{"accountId":"s","enabled":true,"configured":true,"running":false,"lastStartAt"`, `"channelDefaultAccountId":{"discord":"b","slack":"s","telegram":"t"}`} {
		if !strings.Contains(got, want) {
			t.Errorf("channels.status lacks %s:\n%s", want, got)
		}
	}
	if one := string(b.answer(t, "channels.status", `{"channel":"slack"}`)); !strings.Contains(one, `"channelOrder":["slack"]`) {
		t.Errorf("channels.status of slack: %s", one)
	}
	if all := string(b.answer(t, "health", `{"probe":true}`)); !strings.Contains(all, `"channelOrder":["discord","telegram","slack"]`) || !strings.Contains(all, `"accounts":{"t":{`) {
		t.Errorf("health: %s", all)
	}
	if s := string(b.answer(t, "status", `{}`)); !strings.Contains(s, `"channelSummary":["Discord: 1 of 1 bots connected","Telegram: configured, not connected","Slack: configured, not connected"]`) {
		t.Errorf("status: %s", s)
	}
}

// What Discord has not taken is told with its code and what helps, as often as it is asked for.
func TestSendReportsFailures(t *testing.T) {
	t.Parallel()
	b, box := posting(t)
	box.ends["no"] = delivery.Sent{Over: true, State: delivery.Failed, ChannelID: "7", Code: "permission_denied", Text: "Missing Access", Hint: "let it"}
	box.ends["who knows"] = delivery.Sent{Over: true, State: delivery.Unknown, ChannelID: "7", MessageIDs: []string{"70"}, Code: "delivery_unknown", Text: "lost", Hint: "look"}
	for _, c := range []struct{ message, text, details string }{
		{"no", "Error: Missing Access", `{"code":"permission_denied","hint":"let it","channelId":"7"}`},
		{"who knows", "Error: lost", `{"code":"delivery_unknown","hint":"look","channelId":"7","messageIds":["70"]}`},
	} {
		for range 2 {
			got := b.refused(t, "send", `{"to":"7","message":"`+c.message+`","idempotencyKey":"`+c.message+`"}`)
			details, err := json.Marshal(got.Details)
			if err != nil || got.Code != protocol.CodeUnavailable || got.Message != c.text || got.Retryable || string(details) != c.details {
				t.Errorf("%s: %+v %s %v, want %s %s", c.message, got, details, err, c.text, c.details)
			}
		}
	}
	if len(box.posts) != 2 {
		t.Errorf("posted %+v, want each once", box.posts)
	}
}

// A slow post is reported as pending before clients give up; a client that has left gets no answer.
func TestSendDoesNotKeepItsClientWaiting(t *testing.T) {
	t.Parallel()
	b, _ := posting(t)
	synctest.Test(t, func(t *testing.T) {
		call := &wire.Call{Peer: b.as(), Method: "send", Params: json.RawMessage(`{"to":"7","message":"slow","idempotencyKey":"k"}`)}
		for range 2 {
			start := time.Now()
			got, err := b.server.Answer(t.Context(), call)
			text, encoding := json.Marshal(got)
			if took := time.Since(start); err != nil || encoding != nil || took != 9*time.Second ||
				string(text) != `{"runId":"k","channel":"discord","status":"pending"}` {
				t.Errorf("%s %v after %s, want pending after 9s", text, err, took)
			}
		}
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		if got, err := b.server.Answer(ctx, call); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v %v, want the end of the client's context", got, err)
		}
	})
}

// Faults of a request are reported with their field, and nothing is posted.
func TestWhatIsNotPosted(t *testing.T) {
	t.Parallel()
	b, box := posting(t)
	const none = "invalid send params: to: no Discord channel: "
	for _, c := range []struct{ params, field, code, message string }{
		{`"to":"user:404"`, "to", "invalid_delivery", "invalid send params: to: name another person"},
		{`"to":"user:7","accountId":"ghost"`, "accountId", "invalid_delivery", "invalid send params: accountId: name one from channels.discord.accounts: b"},
		{`"to":"user:eden"`, "to", "", none + "user:eden"},
		{`"to":"#general"`, "to", "", none + "#general"},
		{`"to":"channel:"`, "to", "", none},
		{`"to":"7 8"`, "to", "", none},
		{`"to":"404"`, "to", "invalid_delivery", "invalid send params: to: give another one"},
		{`"to":"7","accountId":"ghost"`, "accountId", "invalid_delivery", "invalid send params: accountId: name one from channels.discord.accounts: b"},
		{`"to":"7","mediaUrls":["1","2","3","4","5","6","7","8","9","10"],"mediaUrl":"0"`, "mediaUrls", "", "invalid send params: mediaUrls: name at most 10 files"},
		{`"to":"7","mediaUrl":"` + strings.Repeat("x", 4097) + `"`, "mediaUrl", "", "invalid send params: mediaUrl: give a path or an address of at most 4096 bytes"},
		{`"to":"404","mediaUrl":"a.png"`, "to", "invalid_delivery", "invalid send params: to: give another one"},
		{`"to":"7","mediaUrl":"outside"`, "mediaUrl", "outside_workspace", "invalid send params: mediaUrl: it is outside"},
		{`"to":"7","mediaUrls":["a.png","large"]`, "mediaUrls", "file_too_large", "invalid send params: mediaUrls: it is too large"},
		{`"to":"7","accountId":"ghost","mediaUrl":"a.png"`, "accountId", "invalid_delivery", "invalid send params: accountId: name one"},
		{`"to":"7","gifPlayback":true`, "gifPlayback", "not_kept", "send: gifPlayback is not supported"},
		{`"to":"7","silent":true`, "silent", "not_kept", "send: silent is not supported"},
		{`"to":"7","buffer":"aGk="`, "buffer", "not_kept", "send: buffer is not supported"},
		{`"to":"7","sessionKey":"agent::x"`, "sessionKey", "", "invalid send params: malformed session key"},
		{`"to":"7","agentId":"seum","sessionKey":"agent:eden:main"`, "agentId", "", `invalid send params: agent "seum" does not match session key agent "eden"`},
		{`"to":"7","channel":"webchat"`, "channel", "", "unsupported channel: webchat (internal-only)"},
		{`"to":"7","channel":"irc"`, "channel", "", "unsupported channel: irc"},
	} {
		b.refusesToSend(t, "k", c.params, c.field, c.code, c.message)
	}
	for params, message := range map[string]string{
		`{"to":"7","message":"a\u0000b","idempotencyKey":"k"}`:                                          "message must not contain null bytes",
		`{"to":"7","message":"a","idempotencyKey":"` + strings.Repeat("k", 257) + `"}`:                  "invalid send params: idempotencyKey is too long",
		`{"to":"7","message":"` + strings.Repeat("m", 1<<20+1) + `","idempotencyKey":"k"}`:              "message too large",
		`{"to":"7","message":" ","idempotencyKey":"k","channel":"discord","accountId":"b"}`:             "invalid send params: text or media is required",
		`{"to":"7","message":"a","idempotencyKey":"k","buffer":"a","mediaUrl":" ","channel":"Discord"}`: "send: buffer is not supported",
	} {
		if got := b.refused(t, "send", params); got.Code != protocol.CodeInvalidRequest || got.Message != message {
			t.Errorf("%.80s: %s %q, want %q", params, got.Code, got.Message, message)
		}
	}
	if got := b.refused(t, "send", `{"to":"user:503","message":"a","idempotencyKey":"k"}`); got.Code != protocol.CodeUnavailable || got.Message != "Error: to: it does not answer" {
		t.Errorf("%+v, want the service's failure", got)
	}
	if got := b.refused(t, "poll", `{"to":"7","question":"q","options":["a","b"],"idempotencyKey":"k"}`); got.Code != protocol.CodeUnavailable {
		t.Errorf("poll: %+v, want UNAVAILABLE", got)
	}
	if len(box.posts) != 0 {
		t.Errorf("posted %+v, want nothing", box.posts)
	}
}

// Files are those of the parameters and of the text's MEDIA: lines, each once, with the paths of the agent that is named.
func TestSendPostsFiles(t *testing.T) {
	t.Parallel()
	b, box := posting(t)
	done := delivery.Sent{Over: true, State: delivery.Done, ChannelID: "7", MessageIDs: []string{"70", "71"}}
	box.ends[""], box.ends["the numbers"] = done, done
	for i, c := range []struct{ params, text, files string }{
		{`"mediaUrl":" a.png "`, "", "a.png of eden in discord"},
		{`"mediaUrl":"a.png","mediaUrls":["a.png"," ","MEDIA:b c.png"]`, "", "a.png of eden in discord|b c.png of eden in discord"},
		{`"message":"the numbers\nMEDIA:./a.csv\nMEDIA: https://x/y https://x/z","mediaUrls":["./a.csv"],"agentId":"EDEN"`, "the numbers",
			"./a.csv of eden in discord|https://x/y of eden in discord|https://x/z of eden in discord"},
		{`"message":"MEDIA:a.csv","sessionKey":"agent:eden:main"`, "", "a.csv of eden in discord"},
	} {
		got := string(b.answer(t, "send", fmt.Sprintf(`{"to":"7","idempotencyKey":"k%d",%s}`, i, c.params)))
		if !strings.Contains(got, `"messageIds":["70","71"],"status":"sent"`) {
			t.Errorf("%s: answered %s", c.params, got)
		}
		posted := box.posts[len(box.posts)-1]
		var files []string
		for _, f := range posted.Files {
			files = append(files, strings.Replace(f.Name+" of "+f.Type, "  ", " ", 1))
		}
		if all := strings.Join(files, "|"); all != c.files || posted.Text != c.text {
			t.Errorf("%s: posted %q with %s, want %+v", c.params, posted.Text, all, c)
		}
	}
	// A repeated key asks for no file.
	if got := string(b.answer(t, "send", `{"to":"7","idempotencyKey":"k0","mediaUrl":"gone"}`)); !strings.Contains(got, `"status":"sent"`) {
		t.Errorf("the same key again: %s", got)
	}
	for media, wanted := range map[string]string{
		"gone":            `UNAVAILABLE Error: mediaUrl: it cannot be fetched {"code":"tool_unavailable","field":"mediaUrl","value":"gone","hint":"later"}`,
		"slow":            `UNAVAILABLE Error: mediaUrl: the file did not come within 1m0s {"code":"tool_unavailable","field":"mediaUrl","value":"slow","hint":"send it again with the same key"}`,
		"unknown account": `INVALID_REQUEST invalid send params: accountId: name one {"code":"invalid_delivery","field":"accountId","value":"","hint":"name one"}`,
	} {
		got := b.refused(t, "send", `{"to":"7","idempotencyKey":"new","mediaUrl":"`+media+`"}`)
		details, err := json.Marshal(got.Details)
		if text := fmt.Sprintf("%s %s %s", got.Code, got.Message, details); err != nil || text != wanted {
			t.Errorf("%s: %s, %v, want %s", media, text, err, wanted)
		}
	}
	b.media = nil
	b.reopen(t)
	if got := b.refused(t, "send", `{"to":"7","idempotencyKey":"new","mediaUrl":"a"}`); got.Message != "no files are posted here: leave out mediaUrl" {
		t.Errorf("without files: %+v", got)
	}
}

func TestAnswersAreDelivered(t *testing.T) {
	t.Parallel()
	b, box := posting(t)
	agents := newStage(b)
	b.runs = agents
	b.reopen(t)
	c := dial(t, b.serve(t), client.Options{})

	// A run that came from Discord leaves its place as the last route of the session.
	route := coordination.RunQueued{RunID: "came", Message: "x", Cause: "discord", Deliver: true, Channel: "discord", To: "channel:77", AccountID: "b", ThreadID: "78"}
	key, err := coordination.ParseSessionKey("agent:eden:known")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agents.Queue(t.Context(), run.Ask{Session: key, RunQueued: route}); err != nil {
		t.Fatal(err)
	}
	b.say(t, "agent:eden:known", `"sessionId":"t-1","messageId":"m1","author":"user","text":"x","channel":"discord","to":"channel:77","accountId":"b","threadId":"78"`)

	const plain = `"cause":"agent","by":"cli","message":"a"`
	for name, one := range map[string]struct{ params, wanted string }{
		"named": {`"agentId":"eden","deliver":true,"channel":"discord","to":"7","threadId":"8","accountId":"b"`,
			`{"runId":"named","sessionKey":"agent:eden:main","lane":"",` + plain + `,"deliver":true,"channel":"discord","to":"channel:7","accountId":"b","threadId":"8"}`},
		"reply": {`"agentId":"eden","deliver":true,"channel":"webchat","replyChannel":"discord","to":"me","replyTo":"channel:7","accountId":"x","replyAccountId":"b"`,
			`{"runId":"reply","sessionKey":"agent:eden:main","lane":"",` + plain + `,"deliver":true,"channel":"discord","to":"channel:7","accountId":"b"}`},
		"only": {`"agentId":"eden","deliver":true,"to":"channel:7"`,
			`{"runId":"only","sessionKey":"agent:eden:main","lane":"",` + plain + `,"deliver":true,"channel":"discord","to":"channel:7"}`},
		"last": {`"sessionKey":"agent:eden:known","deliver":true,"channel":"last"`,
			`{"runId":"last","sessionKey":"agent:eden:known","lane":"",` + plain + `,"deliver":true,"channel":"discord","to":"channel:77","accountId":"b","threadId":"78"}`},
		"nowhere": {`"agentId":"eden","deliver":true,"channel":"discord","to":"user:eden","bestEffortDeliver":true`,
			`{"runId":"nowhere","sessionKey":"agent:eden:main","lane":"",` + plain + `,"channel":"discord","to":"user:eden"}`},
		"told": {`"agentId":"eden","deliver":true,"channel":"webchat"`, `{"runId":"told","sessionKey":"agent:eden:main","lane":"",` + plain + `}`},
		"kept": {`"agentId":"eden","channel":"discord","to":"me"`,
			`{"runId":"kept","sessionKey":"agent:eden:main","lane":"",` + plain + `,"channel":"discord","to":"me"}`},
	} {
		accepted := make(chan json.RawMessage, 1)
		refused := make(chan error, 1)
		go func() {
			_, err := final(t, c, `{"message":"a","idempotencyKey":"`+name+`",`+one.params+`}`, func(p json.RawMessage) { accepted <- p })
			refused <- err
		}()
		select {
		case <-accepted:
		case err := <-refused:
			t.Errorf("%s: %v, want it accepted", name, err)
			continue
		}
		ask := agents.ask()
		ask.SessionKey = ask.Session.String()
		ask.By, _, _ = strings.Cut(ask.By, "/")
		if got, err := json.Marshal(ask.RunQueued); err != nil || string(got) != one.wanted {
			t.Errorf("%s\ngot  %s %v\nwant %s", name, got, err, one.wanted)
		}
		agents.end(name, run.Aborted, coordination.RunOver{Reason: "stop"})
		if err := <-refused; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	before := len(agents.asks)
	for _, one := range []struct{ params, field, message string }{
		{`"channel":"discord"`, "to", "invalid agent params: to: no one has written to this session in discord"},
		{`"channel":"last"`, "channel", "delivery channel is required: "},
		{`"channel":"discord","to":"user:eden"`, "to", "invalid agent params: to: no Discord channel: user:eden"},
		{`"channel":"discord","to":"user:404"`, "to", "invalid agent params: to: name another person"},
		{`"channel":"discord","replyTo":"#general"`, "replyTo", "invalid agent params: replyTo: no Discord channel"},
		{`"channel":"discord","to":"404"`, "to", "invalid agent params: to: give another one"},
		{`"channel":"discord","to":"7","accountId":"ghost"`, "accountId", "invalid agent params: accountId: name one from"},
		{`"channel":"irc","to":"7","bestEffortDeliver":true`, "channel", "invalid agent params: unknown channel: irc"},
	} {
		_, err := c.Call(t.Context(), "agent", json.RawMessage(`{"message":"x","idempotencyKey":"wrong","sessionKey":"agent:eden:other","deliver":true,`+one.params+`}`))
		var refused *protocol.Error
		if !errors.As(err, &refused) || !strings.HasPrefix(refused.Message, one.message) {
			t.Errorf("%s: %v, want %s", one.params, err, one.message)
			continue
		}
		if details, _ := refused.Details.(map[string]any); details["field"] != one.field {
			t.Errorf("%s: %+v, want field %s", one.params, refused.Details, one.field)
		}
	}
	if len(agents.asks) != before || len(box.posts) != 0 {
		t.Errorf("%d runs were asked for, %d posts, want none", len(agents.asks)-before, len(box.posts))
	}
}

// channels.status lists which bots are connected, and why others are not.
func TestChannelsAreShownAsTheyStand(t *testing.T) {
	t.Parallel()
	b, box := posting(t)
	b.configure(t, strings.Replace(withDiscord, "c: {enabled: false}", "c: {enabled: false}, d: {token: 'MTAwMDAwMDAwMDAwMDAwMDAx.GabcdE.yyy'}", 1))
	box.bots = []health.Bot{{Channel: "discord", AccountID: "b", UserID: "1", UserName: "이든", State: health.BotReady, Since: 5}, {Channel: "discord", AccountID: "c", State: health.BotOff},
		{Channel: "discord", AccountID: "d", State: health.BotFailed, Text: "the token is refused", Hint: "set another one"}}
	const (
		connected = `"accountId":"b","enabled":true,"configured":true,"running":true,"connected":true,"bot":{"id":"1","username":"이든"},` +
			`"lastStartAt":null,"lastStopAt":null,"lastError":null,"lastProbeAt":PROBED,"lastConnectedAt":5`
		off    = `{"accountId":"c","enabled":false,"configured":false,"running":false,"connected":false,"lastStartAt":null,"lastStopAt":null,"lastError":null,"lastProbeAt":null}`
		failed = `"accountId":"d","enabled":true,"configured":true,"running":true,"connected":false,"lastStartAt":null,"lastStopAt":null,` +
			`"lastError":"the token is refused; set another one","lastProbeAt":PROBED`
		works  = `,"probe":{"ok":true,"bot":{"id":"1","username":"이든"}}`
		broken = `,"probe":{"ok":false,"error":"the token is refused; set another one"}`
	)
	now := string(mustJSON(t, b.now.Load()))
	probed := func(text string) string { return strings.ReplaceAll(text, "PROBED", now) }
	plain := strings.ReplaceAll(`"discord":[{`+connected+`},`+off+`,{`+failed+`}]`, "PROBED", "null")
	for _, c := range []struct{ method, params, part string }{
		{"channels.status", `{}`, plain},
		{"channels.status", `{"probe":true}`, probed(`"discord":[{` + connected + works + `},` + off + `,{` + failed + broken + `}]`)},
		{"channels.status", `{}`, `"channelDefaultAccountId":{"discord":"b"}`},
		{"channels.status", `{"channel":"slack"}`, `"channels":{},"channelAccounts":{}`},
		{"health", `{}`, probed(`"accounts":{"b":{` + connected + works + `},"c":` + off + `,"d":{` + failed + broken + `}}`)},
		{"status", `{}`, `"channelSummary":["Discord: 1 of 2 bots connected"]`},
	} {
		if got := string(b.answer(t, c.method, c.params)); !strings.Contains(got, c.part) {
			t.Errorf("%s %s: %s\nwant %s in it", c.method, c.params, got, c.part)
		}
	}
	box.mu.Lock()
	box.bots = []health.Bot{{Channel: "discord", AccountID: "b", State: health.BotConnecting}}
	box.mu.Unlock()
	b.tick(2 * time.Second)
	if got := string(b.answer(t, "health", `{}`)); !strings.Contains(got, `"probe":{"ok":false,"error":"not connected yet"}`) {
		t.Errorf("health does not follow the bots: %s", got)
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
