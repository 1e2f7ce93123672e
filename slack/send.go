package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Types of metadata, by which the app finds its own messages again: Slack has no key that makes a repeated post one
// message.
const (
	metadataPost   = "openclawd_post"
	metadataThread = "openclawd_thread"
)

// Limits of Slack.
const (
	maxSection = 3000 // characters
	maxLabel   = 75   // characters of a button's text
	maxAction  = 255  // characters of a button's id
	maxButtons = 25   // below one message
	maxBlocks  = 50
)

func metadata(kind, key, value string) string {
	payload, _ := json.Marshal(map[string]string{key: value}) // text always encodes
	text, _ := json.Marshal(metadataShape{Type: kind, Payload: payload})
	return string(text)
}

// Send implements channel.Poster.
func (b *Apps) Send(ctx context.Context, p channel.Post) (channel.Posted, error) {
	const deed = "post a message"
	own, in, err := b.at(deed, p.AccountID, p.ChannelID)
	if err != nil {
		return channel.Posted{}, err
	}
	args, err := b.form(deed, &p, in)
	if err != nil {
		return channel.Posted{}, err
	}
	thread, err := own.threadOf(ctx, deed, p.ChannelID, in, p.ReplyTo)
	if err != nil {
		return channel.Posted{}, err
	}
	if p.File != nil {
		return b.sendFile(ctx, deed, own, place{chat: in.chat, thread: thread}, &p)
	}
	if thread != "" {
		args.Set("thread_ts", thread)
	}
	if p.Nonce != "" {
		args.Set("metadata", metadata(metadataPost, "nonce", p.Nonce))
	}
	m, err := own.post(ctx, deed, p.ChannelID, in, args, p.Nonce)
	if err != nil {
		return channel.Posted{}, err
	}
	return channel.Posted{ID: in.messageID(m.TS), ChannelID: p.ChannelID, At: at(m.TS)}, nil
}

// post posts a message after earlier ones for the same place. Until it returns, events about the app's own messages
// there wait: see nonceOf.
func (a *app) post(ctx context.Context, deed, id string, in place, args url.Values, nonce string) (m postedShape, err error) {
	leave, err := a.turn(ctx, deed, id, lane(in))
	if err != nil {
		return m, err
	}
	defer leave()
	defer a.posts.begin(in.chat)()
	got, err := a.inTurn(ctx, deed, id, lane(in), "chat.postMessage", args)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(got.body, &m); err != nil || stamp(m.TS) == 0 {
		return m, unreadable(deed, a.own.ID, id, err)
	}
	a.posts.add(in.messageID(m.TS), nonce)
	return m, nil
}

// form is a message to post, without its metadata.
func (b *Apps) form(deed string, p *channel.Post, in place) (url.Values, error) {
	refuse := func(why, hint string) (url.Values, error) {
		return nil, channel.Local(deed, p.AccountID, p.ChannelID, http.StatusBadRequest, errors.New(why), hint)
	}
	service, _ := coordination.ChannelNamed(coordination.Slack)
	n := service.Length(p.Content)
	switch {
	case coordination.TrimJS(p.Content) == "" && p.File == nil:
		return refuse("content is empty", "say something")
	case n > service.MaxMessage:
		return refuse(fmt.Sprintf("content has %d characters, Slack advises at most %d", n, service.MaxMessage), "split it with collaborate.ChunksFor")
	}
	if _, _, ok := parseMessage(p.ReplyTo); p.ReplyTo != "" && !ok {
		return refuse("what it replies to is no message", "name a message like slack:c0123456789:1700000000.000100")
	}
	// Slack's own parsing, the default of chat.update, would make mentions of names.
	args := url.Values{"channel": {in.chat}, "text": {b.render(p.Content, p.Notify)}, "parse": {"none"}, "link_names": {"false"}}
	if in.thread != "" {
		args.Set("thread_ts", in.thread)
	}
	if len(p.Components) > 0 {
		blocks, err := b.withButtons(p)
		if err != nil {
			return refuse(err.Error(), "use Components")
		}
		args.Set("blocks", blocks)
	}
	return args, nil
}

// render is a text in Slack's markup, which notifies only the users given.
func (b *Apps) render(text string, notify []string) string {
	return render(text, func(id string) bool { return slices.Contains(notify, id) }, b.UserName)
}

// threadOf is the thread of a post. In a direct conversation, an answer goes to the thread of the message it replies to,
// which Slack is asked for if that is not known.
func (a *app) threadOf(ctx context.Context, deed, id string, in place, replyTo string) (string, error) {
	if in.thread != "" || replyTo == "" || !a.apps.directory.isDirect(in.chat) {
		return in.thread, nil
	}
	if root, known := a.apps.directory.root(replyTo); known {
		return root, nil
	}
	of, ts, ok := parseMessage(replyTo)
	if !ok || of.chat != in.chat {
		return "", nil
	}
	got, refused := a.ask(ctx, deed, id, "conversations.replies", url.Values{"channel": {in.chat}, "ts": {ts}, "limit": {"1"}})
	if refused != nil && passing(refused.Class) {
		return "", unposted(refused)
	}
	var page pageShape
	root := ""
	if refused == nil && json.Unmarshal(got.body, &page) == nil && len(page.Messages) > 0 {
		root = page.Messages[0].inThread()
	}
	a.apps.directory.addRoot(replyTo, root)
	return root, nil
}

// errComponents is the error of components in another form.
var errComponents = errors.New("components are no JSON array of blocks, or too many")

// withButtons are a post's blocks: its text, then its components.
func (b *Apps) withButtons(p *channel.Post) (string, error) {
	var rows []json.RawMessage
	if json.Unmarshal(p.Components, &rows) != nil {
		return "", errComponents
	}
	var all []json.RawMessage
	for _, text := range b.sections(p.Content, p.Notify) {
		block, err := json.Marshal(blockShape{Type: "section", Text: &textShape{Type: "mrkdwn", Text: text, Verbatim: true}})
		if err != nil {
			return "", err
		}
		all = append(all, block)
	}
	if all = append(all, rows...); len(all) > maxBlocks {
		return "", errComponents
	}
	text, err := json.Marshal(all)
	return string(text), err
}

// sections splits a text into rendered parts that each fit into a section. Rendering makes a text longer at most
// five-fold, an & being the worst.
func (b *Apps) sections(text string, notify []string) (parts []string) {
	for limit := maxSection; ; limit /= 2 {
		parts = nil
		for _, c := range collaborate.Split(text, limit) {
			if s := b.render(c.String(), notify); coordination.TrimJS(s) != "" {
				parts = append(parts, s)
			}
		}
		if limit <= maxSection/8 || !slices.ContainsFunc(parts, func(s string) bool { return utf8.RuneCountInString(s) > maxSection }) {
			return parts
		}
	}
}

// Components implements channel.Poster.
func (b *Apps) Components(buttons []channel.Button) json.RawMessage {
	row := blockShape{Type: "actions"}
	for _, button := range buttons {
		if utf8.RuneCountInString(button.Label) > maxLabel || utf8.RuneCountInString(button.ID) > maxAction || button.Label == "" || button.ID == "" {
			return nil
		}
		e := elementShape{Type: "button", ID: button.ID, Text: textShape{Type: "plain_text", Text: button.Label}}
		switch button.Style {
		case channel.ButtonGood:
			e.Style = "primary"
		case channel.ButtonDanger:
			e.Style = "danger"
		}
		row.Elements = append(row.Elements, e)
	}
	if len(row.Elements) == 0 || len(row.Elements) > maxButtons {
		return nil
	}
	text, err := json.Marshal([]blockShape{row})
	if err != nil {
		return nil
	}
	return text
}

// Edit implements channel.Poster.
func (b *Apps) Edit(ctx context.Context, account, id, message, text string) error {
	const deed = "edit a message"
	own, in, err := b.at(deed, account, id)
	if err != nil {
		return err
	}
	args, err := b.form(deed, &channel.Post{AccountID: account, ChannelID: id, Content: text}, in)
	if err != nil {
		return err
	}
	of, ts, ok := parseMessage(message)
	if !ok || of.chat != in.chat {
		return channel.Local(deed, account, id, http.StatusBadRequest, errNoPlace, "name a message of the place")
	}
	args.Del("thread_ts")
	args.Set("ts", ts)
	_, err = own.queued(ctx, deed, id, lane(in), "chat.update", args)
	return err
}

// Typing implements channel.Poster. Slack shows nothing: apps cannot type in channels.
func (b *Apps) Typing(context.Context, string, string) error { return nil }

// StartThread implements channel.Poster. In Slack a thread is what replies to a message: with Opening.MessageID nothing
// is requested, otherwise the thread's name is posted.
func (b *Apps) StartThread(ctx context.Context, o channel.Opening) (channel.Thread, error) {
	const deed = "start a thread"
	own, in, err := b.at(deed, o.AccountID, o.ChannelID)
	if err != nil {
		return channel.Thread{}, err
	}
	if in.thread != "" {
		return channel.Thread{}, channel.Local(deed, o.AccountID, o.ChannelID, http.StatusBadRequest, errNested, "start it in the channel")
	}
	if o.MessageID != "" {
		of, ts, ok := parseMessage(o.MessageID)
		if !ok || of.chat != in.chat {
			return channel.Thread{}, channel.Local(deed, o.AccountID, o.ChannelID, http.StatusBadRequest, errNoPlace, "name a message of the channel")
		}
		return b.thread(own, place{chat: in.chat, thread: ts}, o.Name), nil
	}
	args, err := b.form(deed, &channel.Post{AccountID: o.AccountID, ChannelID: o.ChannelID, Content: o.Name}, in)
	if err != nil {
		return channel.Thread{}, err
	}
	args.Set("text", "*"+args.Get("text")+"*")
	args.Set("metadata", metadata(metadataThread, "name", o.Name))
	m, err := own.post(ctx, deed, o.ChannelID, in, args, "")
	if err != nil {
		return channel.Thread{}, err
	}
	return b.thread(own, place{chat: in.chat, thread: m.TS}, o.Name), nil
}

// errNested is the error of a thread in a thread.
var errNested = errors.New("a thread has no threads")

func (b *Apps) thread(own *app, in place, name string) channel.Thread {
	parent, _, _ := own.conversation(in.chat, "")
	p := b.directory.addThread(in, &parent, name)
	return channel.Thread{ID: p.ID, Name: name, ChannelID: p.ParentID, GuildID: p.GuildID, OwnerID: own.current().UserID}
}

// queued makes a request in a lane.
func (a *app) queued(ctx context.Context, deed, id, lane, method string, args url.Values) (answer, error) {
	leave, err := a.turn(ctx, deed, id, lane)
	if err != nil {
		return answer{}, err
	}
	defer leave()
	return a.inTurn(ctx, deed, id, lane, method, args)
}

// lane is the lane of a conversation's posts and edits. Reactions have one of their own, so that Slack's limit of these holds up no
// answer.
func lane(in place) string { return "messages " + in.chat }

func reactionLane(in place) string { return "reactions " + in.chat }

// turn waits in a lane.
func (a *app) turn(ctx context.Context, deed, id, lane string) (leave func(), err error) {
	rate := a.apps.settings().Collaboration.RateLimit.MessagesPerSecond
	leave, err = a.apps.lanes.Enter(ctx, lane, a.own.ID, channel.Pace{Most: rate, Within: time.Second})
	if err != nil {
		return nil, channel.Queued(coordination.Slack, deed, a.own.ID, id, err)
	}
	return leave, nil
}

// inTurn makes a request of the one that has its turn.
func (a *app) inTurn(ctx context.Context, deed, id, lane, method string, args url.Values) (answer, error) {
	got, refused := a.ask(ctx, deed, id, method, args)
	if refused == nil {
		return got, nil
	}
	a.apps.lanes.Hold(lane, a.own.ID, refused.Failure.RetryAfter)
	return got, refused
}
