package inbound

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// situation is the input of a decision except observed messages.
func (h *intake) situation(tx eventstore.Tx) (s route.Situation, err error) {
	s = route.Situation{Message: h.message, Bots: h.bots, Bindings: channel.BindingsOf(h.config), Policy: channel.PolicyOf(h.config, h.o.Channel, h.message.AccountID, &h.message)}
	if h.o.Channel == coordination.Discord {
		s.Sinks = sinksOf(h.config, h.bots)
	}
	if h.o.Allowed != nil {
		s.Policy.Allowed = func(from, to string) bool { return h.o.Allowed(h.config, from, to) }
	}
	author := h.agentOf(s.Message.Author.ID)
	channel.Narrow(h.config, h.o.Channel, &s, author == "" && !s.Message.Author.Bot && !s.Message.Author.Webhook)
	if s.Message.ThreadID != "" {
		if s.Participants, err = routing.Attendance(tx, s.Message.ThreadID); err != nil {
			return s, err
		}
		report, err := routing.IsReport(tx, s.Message.ThreadID)
		if err != nil {
			return s, err
		}
		if report {
			s.Sinks.Threads = append(s.Sinks.Threads, s.Message.ThreadID)
		}
	}
	if s.Guard, err = routing.Guard(tx, s.Message.Place(), author); err != nil {
		return s, err
	}
	if author == "" && h.in.Message.Author.Account == "" {
		if h.message.Author.Bot || h.message.Author.Webhook {
			return s, nil
		}
		if err = h.admit(tx, &s); err != nil {
			return s, err
		}
		return s, h.about(tx, &post{})
	}
	post, err := h.post(tx)
	if err != nil {
		return s, err
	}
	if post.report {
		s.Sinks.Authors = append(s.Sinks.Authors, s.Message.Author.ID)
	}
	s.Message.System, s.Message.Request, s.Message.Silent = post.system, post.request, post.asks || post.index > 0
	s.Message.Rest = post.index > 0
	h.said, h.saidIn, h.collabID, h.posted = post.said, post.runID, post.collabID, post.files
	for i := range h.posted {
		s.Message.Files = append(s.Message.Files, route.File{Name: h.posted[i].Name, SHA256: h.posted[i].SHA256})
	}
	s.Message.Text = h.words()
	if author == "" || post.system || post.report {
		return s, nil
	}
	if err = h.about(tx, &post); err != nil {
		return s, err
	}
	h.request = h.conversation.context
	said, err := runOf(tx, post.runID)
	if err != nil {
		return s, err
	}
	s.Message.CausedBy, s.Message.CollabID = said.asked.MessageID, said.asked.CollabID
	h.link, err = h.chain(tx, &post, &said)
	s.Hop = h.link.Hop
	return s, err
}

// about determines a message's request: the one it is, possibly not yet recorded as sent, else the newest one of the
// thread.
func (h *intake) about(tx eventstore.Tx, p *post) error {
	if p.collabID != "" {
		if r, found, err := responses.Load(tx, p.collabID); found || err != nil {
			h.conversation = threadConversationOf(&r)
			return err
		}
	}
	if h.message.ThreadID == "" {
		return nil
	}
	r, found, err := responses.LastIn(tx, h.message.ThreadID)
	if found {
		h.conversation = threadConversationOf(&r)
	}
	return err
}

// agentOf is the agent of a bot's user id, "" if none.
func (h *intake) agentOf(userID string) string {
	for i := range h.bots {
		if b := &h.bots[i]; b.UserID == userID && userID != "" && b.Agent != "" {
			return b.Agent
		}
	}
	return ""
}

// post is what is known of a message posted by one of our bots.
type post struct {
	system, report  bool
	request         bool // from one agent to another
	asks            bool // likewise, and an answer is awaited
	index           int  // index of the message within its post
	said            []string
	files           []delivery.File // of the whole post
	runID, collabID string
	hop             *int   // of what it says, as far as the delivery records
	root            string // likewise, of its chain
}

// post determines why one of our bots posted the message. The service may deliver it before the log records it: then it
// belongs to a delivery in progress.
func (h *intake) post(tx eventstore.Tx) (p post, err error) {
	m := &h.in.Message
	known, found, err := routing.PostOf(tx, m.ID)
	switch {
	case err != nil:
		return p, err
	case found:
		p = post{system: known.System, report: known.Purpose == delivery.Report, request: known.Purpose == delivery.Request, runID: known.RunID,
			collabID: known.CollabID}
		if err = p.read(tx, &known); err != nil {
			return p, err
		}
	default:
		if p, err = h.underWay(tx); err != nil {
			return p, err
		}
	}
	p.system = p.system || response.SystemNonce(m.Nonce) || response.SystemText(m.Content)
	return p, nil
}

// underWay finds the message among deliveries in progress, by nonce, or by place, bot and text. One that was tried and
// waits for its next attempt, such as after a restart, is found by nonce only: the message may be its last attempt's. So is
// one whose outcome is unknown.
func (h *intake) underWay(tx eventstore.Tx) (post, error) {
	leased, err := workqueue.LeasedOf(tx, h.o.Channel)
	if err != nil {
		return post{}, err
	}
	p, found, err := h.among(tx, leased, true)
	if found || err != nil || h.in.Message.Nonce == "" {
		return p, err
	}
	tried, err := workqueue.TriedOf(tx, h.o.Channel, h.o.Channel)
	if err != nil {
		return post{}, err
	}
	if p, found, err = h.among(tx, tried, false); found || err != nil {
		return p, err
	}
	ended, err := workqueue.GivenUpOf(tx, h.o.Channel, maxGivenUp)
	if err != nil {
		return post{}, err
	}
	p, _, err = h.among(tx, ended, false)
	return p, err
}

// maxGivenUp is how many deliveries that were given up are looked at for a message that was posted nevertheless.
const maxGivenUp = 100

// among finds the message among deliveries. byText says whether its text counts, too.
func (h *intake) among(tx eventstore.Tx, items []workqueue.Item, byText bool) (p post, found bool, err error) {
	m := &h.in.Message
	for i := range items {
		d, err := readDelivery(tx, items[i].Seq)
		if err != nil {
			return post{}, false, err
		}
		if d == nil {
			continue
		}
		index := h.named(d, items[i].EffectID)
		if byText && index < 0 && strings.EqualFold(d.AccountID, m.Author.Account) && h.within(d) {
			index = alike(d, m)
		}
		if index < 0 {
			continue
		}
		p := post{system: d.System, report: d.Purpose == delivery.Report, request: d.Purpose == delivery.Request, runID: d.RunID, collabID: d.CollabID,
			hop: d.Context.Hop, root: d.Context.RootRunID, index: index}
		p.of(d)
		return p, true, nil
	}
	return post{}, false, nil
}

// alike is the index of a delivery's message with the same text, or a file of the same size; -1 if none.
func alike(d *delivery.Delivery, m *channel.Message) int {
	for i := range d.Posts() {
		switch text, f := d.Post(i); {
		case f == nil && strings.TrimSpace(text) == strings.TrimSpace(m.Content), f != nil && len(m.Attachments) == 1 && m.Attachments[0].Size == f.Size:
			return i
		}
	}
	return -1
}

// within reports whether a delivery posts in the message's place, or opens a thread there.
func (h *intake) within(d *delivery.Delivery) bool {
	if d.Open != nil && d.ThreadID == "" {
		return h.message.ThreadID != "" && d.ChannelID == h.message.ChannelID
	}
	return cmp.Or(d.ThreadID, d.ChannelID) == h.message.Place()
}

// named is the index of the delivery's message with the same nonce, -1 if none.
func (h *intake) named(d *delivery.Delivery, effectID string) int {
	for i := range d.Posts() {
		if nonce := h.in.Message.Nonce; nonce != "" && d.Nonce(effectID, h.message.Place(), i) == nonce {
			return i
		}
	}
	return -1
}

// of applies what a delivery records about its messages.
func (p *post) of(d *delivery.Delivery) {
	p.said, p.files = d.Messages, d.Files
	p.asks = d.Purpose == delivery.Request && d.Route != collaborate.RouteShared
}

const selectAsked = `SELECT max(e.seq) FROM streams s JOIN events e ON e.stream_id = s.id WHERE s.name = ? AND e.type = 'work.scheduled'`

// read adds the data of a message's delivery known to the log.
func (p *post) read(tx eventstore.Tx, known *routing.Post) error {
	err := tx.Query(selectScheduled, []any{known.Seq}, func(row eventstore.Row) error {
		var sent coordination.DiscordOutbound
		if !row.Null(0) && json.Unmarshal([]byte(row.Text(0)), &sent) == nil {
			p.index = sent.Index
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read how message %s was posted: %w", known.MessageID, err)
	}
	d, err := deliveryOf(tx, known.EffectID)
	if d != nil {
		p.of(d)
	}
	return err
}

const selectScheduled = "SELECT data FROM events WHERE seq = ?"

// readDelivery reads what an event scheduled, nil if it was redacted or is malformed.
func readDelivery(tx eventstore.Tx, seq int64) (d *delivery.Delivery, err error) {
	err = tx.Query(selectScheduled, []any{seq}, func(row eventstore.Row) error {
		var scheduled coordination.WorkScheduled
		var read delivery.Delivery
		if row.Null(0) || json.Unmarshal([]byte(row.Text(0)), &scheduled) != nil || json.Unmarshal(scheduled.Payload, &read) != nil {
			return nil
		}
		d = &read
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the delivery scheduled by %d: %w", seq, err)
	}
	return d, nil
}

// chain is an agent message's position in the causal chain: one hop after the run that wrote it, that of the request
// it is, or of the thread's newest request; else it starts a chain.
func (h *intake) chain(tx eventstore.Tx, p *post, said *authorRun) (chain.Link, error) {
	if said.known {
		return said.link().Next(), nil
	}
	if p.collabID != "" {
		r, found, err := responses.Load(tx, p.collabID)
		if err != nil || found && r.Hop != nil {
			return atLeastOne(r.RootRunID, r.Hop), err
		}
	}
	if p.hop != nil {
		return chain.At(p.root, p.hop).Next(), nil
	}
	return atLeastOne(h.request.RootRunID, h.request.Hop), nil
}

func atLeastOne(root string, hop *int) chain.Link {
	link := chain.At(root, hop)
	link.Hop = max(link.Hop, 1)
	return link
}

// authorRun is a run that wrote something.
type authorRun struct {
	known bool
	root  string                 // the original run
	asked coordination.RunQueued // without redacted data
}

// runOf reads a run's request; empty for the run "".
func runOf(tx eventstore.Tx, runID string) (s authorRun, err error) {
	if runID == "" {
		return s, nil
	}
	result, found, err := runs.Load(tx, runID)
	if err != nil || !found {
		return s, err
	}
	s.known, s.root = true, run.RootOf(result.RunID, result.RetryOf)
	err = tx.Query(selectScheduled, []any{result.Seq}, func(row eventstore.Row) error {
		if row.Null(0) {
			return nil
		}
		return json.Unmarshal([]byte(row.Text(0)), &s.asked)
	})
	if err != nil {
		return s, fmt.Errorf("read what caused run %s: %w", runID, err)
	}
	return s, nil
}

// link is the run's position in its causal chain.
func (s *authorRun) link() chain.Link {
	return chain.At(cmp.Or(s.asked.RootRunID, s.root), s.asked.Hop)
}
