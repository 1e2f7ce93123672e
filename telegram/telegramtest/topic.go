package telegramtest

import "slices"

// topic is a topic of a forum; its id is that of the message that began it.
type topic struct {
	id     int
	name   string
	color  int
	closed bool
	first  *message
}

// Topic is a topic of a forum.
type Topic struct {
	ID     int
	Name   string
	Closed bool
}

// generalTopic is the id of the topic that every forum has; its messages name no topic.
const generalTopic = 1

const topicColor = 0x6FB9F0

// topicOf returns the topic of a request, nil for none. A closed one is refused unless the writer may manage topics.
func (ch *chat) topicOf(c *call, writer *account) (*topic, *Error) {
	id := int(c.number("message_thread_id"))
	if id == 0 || id == generalTopic && ch.IsForum {
		return nil, nil
	}
	t := ch.topic(id)
	switch {
	case t == nil:
		return nil, badRequest("message thread not found")
	case t.closed && writer != nil && !ch.may(writer, manageTopics):
		return nil, badRequest("TOPIC_CLOSED")
	}
	return t, nil
}

func manageTopics(r Rights) bool { return r.ManageTopics }

func (ch *chat) topic(id int) *topic {
	i := slices.IndexFunc(ch.topics, func(t *topic) bool { return t.id == id })
	if i < 0 {
		return nil
	}
	return ch.topics[i]
}

type topicShape struct {
	ThreadID  int    `json:"message_thread_id"`
	Name      string `json:"name"`
	IconColor int    `json:"icon_color"`
}

func (s *Server) createForumTopic(c *call) (any, *Error) {
	ch, refusal := s.forumOf(c, "create a topic")
	if refusal != nil {
		return nil, refusal
	}
	name := c.text("name")
	if n := len([]rune(name)); n == 0 || n > 128 {
		return nil, badRequest("TOPIC_TITLE_EMPTY")
	}
	t := s.openTopic(ch, c.by, name)
	return topicShape{ThreadID: t.id, Name: t.name, IconColor: t.color}, nil
}

func (s *Server) forumOf(c *call, deed string) (*chat, *Error) {
	ch, refusal := s.chatOf(c)
	switch {
	case refusal != nil:
		return nil, refusal
	case !ch.IsForum:
		return nil, badRequest("the chat is not a forum")
	case !ch.may(c.by, manageTopics):
		return nil, badRequest("not enough rights to %s", deed)
	}
	return ch, nil
}

func (s *Server) openTopic(ch *chat, by *account, name string) *topic {
	t := &topic{name: name, color: topicColor}
	t.first = &message{chat: ch, from: by, topic: t, topicCreated: &TopicCreated{Name: name, IconColor: topicColor}}
	s.add(t.first)
	t.id = t.first.number
	ch.topics = append(ch.topics, t)
	s.tell(t.first)
	return t
}

func (s *Server) closeForumTopic(c *call) (any, *Error) { return s.setClosed(c, true) }

func (s *Server) reopenForumTopic(c *call) (any, *Error) { return s.setClosed(c, false) }

func (s *Server) setClosed(c *call, closed bool) (any, *Error) {
	ch, refusal := s.forumOf(c, "close the topic")
	if refusal != nil {
		return nil, refusal
	}
	t := ch.topic(int(c.number("message_thread_id")))
	switch {
	case t == nil:
		return nil, badRequest("message thread not found")
	case t.closed == closed:
		return nil, badRequest("TOPIC_NOT_MODIFIED")
	}
	s.markClosed(ch, c.by, t, closed)
	return true, nil
}

func (s *Server) markClosed(ch *chat, by *account, t *topic, closed bool) {
	t.closed = closed
	s.service(ch, by, func(m *message) { m.topic, m.topicClosed, m.reopened = t, closed, !closed })
}

// Topics returns the topics of a forum, in order of creation.
func (ch *Chat) Topics() (all []Topic) {
	ch.s.mu.Lock()
	defer ch.s.mu.Unlock()
	for _, t := range ch.own.topics {
		all = append(all, Topic{ID: t.id, Name: t.name, Closed: t.closed})
	}
	return all
}

// OpenTopic opens a topic as the group's creator, and returns its id.
func (ch *Chat) OpenTopic(name string) int {
	ch.s.mu.Lock()
	defer ch.s.mu.Unlock()
	defer ch.s.happened()
	return ch.s.openTopic(ch.own, ch.own.members[0].who, name).id
}

// CloseTopic closes a topic as the group's creator.
func (ch *Chat) CloseTopic(id int) {
	ch.s.mu.Lock()
	defer ch.s.mu.Unlock()
	if t := ch.own.topic(id); t != nil && !t.closed {
		ch.s.markClosed(ch.own, ch.own.members[0].who, t, true)
	}
	ch.s.happened()
}
