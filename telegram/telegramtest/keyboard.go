package telegramtest

import (
	"slices"
	"strconv"
)

// keyboardOf reads and checks the inline keyboard of a request; other markups are ignored.
func keyboardOf(c *call) (*Keyboard, *Error) {
	var k Keyboard
	if refusal := c.object("reply_markup", &k); refusal != nil {
		return nil, refusal
	}
	n := 0
	for _, row := range k.Rows {
		for _, b := range row {
			n++
			switch {
			case b.Text == "":
				return nil, badRequest("can't parse inline keyboard button: Field \"text\" must be non-empty")
			case len(b.Data) > 64:
				return nil, badRequest("BUTTON_DATA_INVALID")
			case b.Data == "" && b.URL == "":
				return nil, badRequest("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
			}
		}
	}
	if n == 0 {
		return nil, nil
	}
	if n > 100 {
		return nil, badRequest("reply markup is too long")
	}
	return &k, nil
}

func sameKeyboard(a, b *Keyboard) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.EqualFunc(a.Rows, b.Rows, slices.Equal)
}

// query is a pressed button.
type query struct {
	id     string
	bot    *account
	person *account
	answer *CallbackAnswer
}

// CallbackAnswer is a bot's answer to a pressed button.
type CallbackAnswer struct {
	Text  string
	Alert bool
}

// Press is a pressed button, for inspection.
type Press struct {
	s   *Server
	own *query
}

// Answer is the bot's answer; false: not answered yet.
func (p *Press) Answer() (CallbackAnswer, bool) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if p.own.answer == nil {
		return CallbackAnswer{}, false
	}
	return *p.own.answer, true
}

// Expire makes Telegram refuse answers to the press, as it does after some minutes.
func (p *Press) Expire() {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	delete(p.s.queries, p.own.id)
}

// Press presses a button below a bot's message, by its data. A refusal is an *Error.
func (p *Person) Press(m Message, data string) (*Press, error) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	on := m.own
	if on == nil || on.keyboard == nil || !on.from.IsBot || !on.chat.present(p.own) {
		return nil, badRequest("there is no such button")
	}
	if !slices.ContainsFunc(on.keyboard.Rows, func(row []Button) bool {
		return slices.ContainsFunc(row, func(b Button) bool { return b.Data == data && data != "" })
	}) {
		return nil, badRequest("DATA_INVALID")
	}
	p.s.lastID++
	q := &query{id: strconv.FormatInt(4_000_000_000_000_000_000+p.s.lastID, 10), bot: on.from, person: p.own}
	p.s.queries[q.id] = q
	p.s.queue(on.from, "callback_query", Update{CallbackQuery: &CallbackQuery{ID: q.id, From: p.User, Message: on.shapeFor(on.from),
		ChatInstance: strconv.FormatInt(-on.chat.ID*31, 10), Data: data}})
	p.s.happened()
	return &Press{s: p.s, own: q}, nil
}

func (s *Server) answerCallbackQuery(c *call) (any, *Error) {
	q := s.queries[c.text("callback_query_id")]
	switch {
	case q == nil || q.bot != c.by:
		return nil, badRequest("query is too old and response timeout expired or query ID is invalid")
	case units(c.text("text")) > 200:
		return nil, badRequest("MESSAGE_TOO_LONG")
	}
	q.answer = &CallbackAnswer{Text: c.text("text"), Alert: c.flag("show_alert")}
	return true, nil
}
