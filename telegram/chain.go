package telegram

import (
	"context"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// In a supergroup without topics, a thread is a chain of replies: Telegram names the first message of the chain with each reply as its
// message_thread_id, and so do ids here. Only chains that a bot has opened with StartThread are threads; what people reply to each other
// stays in the group.

// chainKey is a message of a supergroup.
type chainKey struct {
	chat   int64
	number int
}

// chains are the chains of replies that are threads. They are guarded by directory.mu.
type chains struct {
	forum map[int64]bool   // whether groups have topics
	first map[chainKey]int // the first message of a message's chain
	roots map[chainKey]int // likewise, of first messages only: no other message evicts these
}

// remember takes the threads that the log knows: a program that was started again knows them, too.
func (d *directory) remember(marks []channel.Mark) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range marks {
		if at, err := parsePlace(m.ChannelID); err == nil && at.topic != 0 {
			put(d.chains.roots, chainKey{at.chat, at.topic}, at.topic)
		}
	}
}

// topicOf is the topic or the chain that a message is in, 0 for none.
func (d *directory) topicOf(m *messageShape) int {
	switch {
	case m.InTopic:
		return m.Thread
	case m.Chat.Type != typeSupergroup || m.Chat.IsForum:
		return 0
	}
	if m.Thread != 0 {
		d.recall(place{chat: m.Chat.ID, topic: m.Thread})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	first := d.chains.of(chainKey{m.Chat.ID, m.ID})
	if first == 0 && m.Thread != 0 {
		first = d.chains.of(chainKey{m.Chat.ID, m.Thread})
	}
	if first == 0 && m.ReplyTo != nil {
		first = d.chains.of(chainKey{m.Chat.ID, m.ReplyTo.ID})
	}
	if first != 0 {
		put(d.chains.first, chainKey{m.Chat.ID, m.ID}, first)
	}
	return first
}

// of is the first message of a message's chain, 0 for none.
func (c *chains) of(m chainKey) int {
	if root := c.roots[m]; root != 0 {
		return root
	}
	return c.first[m]
}

// recall takes a chain from the log that has been quiet for too long to be among the marks.
func (d *directory) recall(at place) {
	key := chainKey{at.chat, at.topic}
	d.mu.RLock()
	known := d.inLog == nil || d.chains.of(key) != 0
	d.mu.RUnlock()
	if known || !d.inLog(placeID(at)) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	put(d.chains.roots, key, at.topic)
}

// isChain reports whether a thread is a chain of replies that is known.
func (d *directory) isChain(at place) bool {
	d.recall(at)
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.chains.roots[chainKey{at.chat, at.topic}] != 0
}

// join puts a message into a chain.
func (d *directory) join(m *messageShape, first int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.chains.first
	if m.ID == first {
		all = d.chains.roots
	}
	put(all, chainKey{m.Chat.ID, m.ID}, first)
}

// addThread records a topic or a chain.
func (d *directory) addThread(at place, name string) collaborate.Place {
	parent := placeID(place{chat: at.chat})
	p := collaborate.Place{ID: placeID(at), Kind: collaborate.Thread, Name: name, ParentID: parent, GuildID: parent}
	d.mu.Lock()
	defer d.mu.Unlock()
	put(d.places, p.ID, p)
	return p
}

// hasTopics reports whether a group has topics; one that no message has come from yet is requested.
func (b *Bots) hasTopics(ctx context.Context, deed string, own *bot, chat int64) (is bool, err error) {
	b.directory.mu.RLock()
	is, known := b.directory.chains.forum[chat]
	b.directory.mu.RUnlock()
	if known {
		return is, nil
	}
	a, refused := own.ask(ctx, deed, placeID(place{chat: chat}), chatForm{chat})
	if refused != nil {
		return false, unsent(refused)
	}
	c, failure := parsed[chatShape](deed, own.account, a)
	if failure != nil {
		return false, unsent(failure)
	}
	b.directory.mu.Lock()
	defer b.directory.mu.Unlock()
	b.directory.addChat(&c, own.user.Load())
	return c.IsForum, nil
}

// aim says how a message reaches its place: the topic that it is sent to, and the message that it replies to. A message in a chain
// replies to the chain's first message, unless it replies to another one.
func (b *Bots) aim(ctx context.Context, deed string, own *bot, at place, replyTo int) (topic, reply int, err error) {
	if at.topic == 0 {
		return 0, replyTo, nil
	}
	switch is, err := b.hasTopics(ctx, deed, own, at.chat); {
	case err != nil:
		return 0, 0, err
	case is:
		return at.topic, replyTo, nil
	case replyTo == 0:
		return 0, at.topic, nil
	}
	return 0, replyTo, nil
}

// startChain posts a thread's name, to which the messages of the thread reply.
func (b *Bots) startChain(ctx context.Context, deed string, own *bot, at place, o *channel.Opening) (channel.Thread, error) {
	text := b.markup("**"+o.Name+"**", nil)
	leave, err := b.enter(ctx, deed, own, at, o.ChannelID)
	if err != nil {
		return channel.Thread{}, err
	}
	m, err := b.post(ctx, deed, own, o.ChannelID, sendForm{chat: at.chat, text: text.markdown, markdown: true}, text.plain)
	leave()
	if err != nil {
		return channel.Thread{}, err
	}
	b.directory.addMessage(&m, own.user.Load())
	b.directory.join(&m, m.ID)
	return b.threadOf(own, place{chat: m.Chat.ID, topic: m.ID}, o.Name), nil
}

// threadOf records a thread, and returns it.
func (b *Bots) threadOf(own *bot, at place, name string) channel.Thread {
	p := b.directory.addThread(at, name)
	return channel.Thread{ID: p.ID, Name: p.Name, ChannelID: p.ParentID, GuildID: p.GuildID, OwnerID: idText(own.user.Load())}
}
