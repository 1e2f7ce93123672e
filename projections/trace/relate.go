package trace

import (
	"cmp"
	"database/sql"
	"math"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/index"
)

// settle adds the messages of the requested work session or conversation, after the runs and flows that they belong
// to. A run may be part of it only by a refusal.
func (g *collector) settle() error {
	var refused []string
	for _, h := range g.pending {
		if isRefusal(h.Type) && h.job == "" && h.parentRun != "" && g.nodes[place{Run, h.parentRun}] == nil {
			refused = append(refused, runName(h.parentRun))
		}
	}
	if len(refused) > 0 {
		runs, err := g.runs(selectRuns, projections.JSONList(refused), g.room())
		if err != nil {
			return err
		}
		for _, n := range runs {
			g.addNode(n)
		}
		if err := g.addCauses(); err != nil {
			return err
		}
	}
	g.addMessages(g.pending, g.asked)
	return nil
}

// refusalTypes are the events for a sender that may not, or cannot, send.
var refusalTypes = []string{coordination.TypeA2AForbidden, coordination.TypeA2ADispatchFailed}

func isRefusal(typ string) bool { return slices.Contains(refusalTypes, typ) }

// maxRefusals bounds how many refusals are read: all within the time of the runs.
const maxRefusals = 1_000

// refusals adds the refusals of the requested runs, and of those that they caused. Such a message has no flow, and may
// name no conversation.
func (g *collector) refusals() error {
	low, high := int64(math.MaxInt64), int64(0)
	for p := range g.mine {
		if n := g.nodes[p]; p.kind == Run && n != nil {
			low, high = min(low, n.Seq), max(high, n.until())
		}
	}
	if high == 0 {
		return nil
	}
	selection, err := index.Select(g.ctx, g.tx, index.Filter{Types: refusalTypes})
	if err != nil || selection.Matched == 0 {
		return err
	}
	seqs, err := selection.After(g.ctx, g.tx, low, maxRefusals+1)
	if err != nil {
		return err
	}
	seqs = slices.DeleteFunc(seqs, func(seq int64) bool { return seq > high })
	if len(seqs) > maxRefusals {
		seqs, g.cut = seqs[:maxRefusals], true
	}
	list, err := g.events(selectEvents, false, projections.JSONList(seqs))
	if err != nil {
		return err
	}
	for _, h := range list {
		if p := (place{Run, h.parentRun}); h.job == "" && g.mine[p] && g.nodes[p] != nil {
			g.addMessages([]*messageEvent{h}, false)
		}
	}
	return nil
}

// addMessages adds messages to their flow if that is in the tree, otherwise to their conversation or thread, which is added
// with them. Messages of a flow that was left out are left out too.
func (g *collector) addMessages(messages []*messageEvent, asked bool) {
	for _, h := range messages {
		if !isMessage(h.Type) || g.said[h.Seq] {
			continue
		}
		if g.left == 0 {
			g.cut = true
			return
		}
		n := g.nodeOf(h)
		if n == nil {
			if h.job != "" && g.cut {
				continue
			}
			if n = g.conversationNode(h); n == nil {
				continue
			}
			n.Asked, n.Seq = n.Asked || asked, min(n.Seq, h.Seq)
			g.mine[n.place()] = true
		}
		g.left--
		g.said[h.Seq] = true
		n.own.heard = append(n.own.heard, h)
	}
}

// nodeOf returns the run or flow in the tree that a message belongs to; nil if none. A refusal belongs to the refused
// run, even if it names the conversation of a flow.
func (g *collector) nodeOf(h *messageEvent) *Node {
	runs := []*Node{g.nodes[place{Run, h.run}], g.nodes[place{Run, h.parentRun}]}
	if h.job == "" && isRefusal(h.Type) {
		if n := cmp.Or(runs...); n != nil {
			return n
		}
	}
	if n := g.flowHeard(h); n != nil || h.job != "" {
		return n
	}
	return cmp.Or(runs...)
}

// flowHeard returns the flow that a message belongs to, if it is in the tree. Events of spawns do not name their job:
// they belong to the latest flow of their conversation that was open.
func (g *collector) flowHeard(h *messageEvent) (flow *Node) {
	if h.job != "" {
		return g.nodes[place{Flow, h.job}]
	}
	for _, n := range g.talking[h.conversation] {
		if n.Seq < h.Seq && (flow == nil || n.Seq > flow.Seq) {
			flow = n
		}
	}
	if flow != nil && flow.own.overSeq != 0 && flow.own.overSeq < h.Seq {
		return nil
	}
	return flow
}

// conversationNode returns the conversation or thread of a message, adding it with its first message. It is nil if the tree
// is full.
func (g *collector) conversationNode(h *messageEvent) *Node {
	p := place{Conversation, h.conversation}
	if p.id == "" {
		p = place{Thread, h.thread}
	}
	if p.id == "" {
		return nil
	}
	if n := g.nodes[p]; n != nil {
		return n
	}
	n := &Node{Kind: p.kind, ID: p.id, Seq: h.Seq, WorkSession: h.session, Conversation: h.conversation}
	if !g.addNode(n) {
		return nil
	}
	return n
}

// readFlows reads the messages of the flows in the tree, conversation by conversation.
func (g *collector) readFlows() error {
	var order []string // in log order, so that truncation is deterministic
	flows := map[string][]*Node{}
	for _, n := range g.inOrder() {
		if n.Kind != Flow || n.Conversation == "" || len(n.own.heard) > 0 {
			continue
		}
		if flows[n.Conversation] == nil {
			order = append(order, n.Conversation)
		}
		flows[n.Conversation] = append(flows[n.Conversation], n)
	}
	for _, id := range order {
		if err := g.readMessages(id, flows[id]); err != nil {
			return err
		}
	}
	return nil
}

// messagesAtOnce bounds the messages of a conversation read by one statement.
const messagesAtOnce = 256

// readMessages reads the messages of some flows of one conversation, first flow first, until each has its end.
func (g *collector) readMessages(conversationID string, flows []*Node) error {
	waiting := map[string]bool{}
	for _, n := range flows {
		waiting[n.ID] = true
	}
	for from, read := flows[0].Seq, 0; len(waiting) > 0 && g.left > 0 && read < g.options.Messages; {
		list, err := g.inStream(conversationID, from, messagesAtOnce)
		if err != nil {
			return err
		}
		for _, h := range list {
			from = h.Seq + 1
			flow := g.flowHeard(h)
			if flow == nil {
				continue
			}
			g.addMessages([]*messageEvent{h}, false)
			if h.Type == coordination.TypeA2AComplete {
				delete(waiting, flow.ID)
			}
		}
		if read += len(list); len(list) < messagesAtOnce {
			return nil
		}
	}
	g.cut = g.cut || len(waiting) > 0
	return nil
}

// relate adds the parents and children of the conversations in the tree, according to their messages and threads.
func (g *collector) relate() error {
	var queue []*Node
	for _, n := range g.inOrder() {
		if n.Kind == Conversation {
			queue = append(queue, n)
		}
	}
	for i := 0; i < len(queue); i++ {
		kin, err := g.relatives(queue[i])
		if err != nil {
			return err
		}
		for _, id := range kin {
			if id == queue[i].ID || g.nodes[place{Conversation, id}] != nil || g.cut {
				continue
			}
			if err := g.addRelated(id, id != queue[i].ParentConversation && g.mine[queue[i].place()]); err != nil {
				return err
			}
			if n := g.nodes[place{Conversation, id}]; n != nil {
				queue = append(queue, n)
			}
		}
	}
	return nil
}

// relatives are the parent and children of a conversation.
func (g *collector) relatives(n *Node) (ids []string, err error) {
	var sessions []string
	for _, h := range n.own.heard {
		if n.ParentConversation == "" {
			n.ParentConversation = h.parent
		}
		if h.session != "" && !slices.Contains(sessions, h.session) {
			sessions = append(sessions, h.session)
		}
	}
	if n.ParentConversation != "" {
		ids = append(ids, n.ParentConversation)
	}
	if !g.mine[n.place()] {
		return ids, nil
	}
	for _, name := range sessions {
		children, read := g.children[name]
		if !read {
			if children, err = g.childConversations(name, g.options.Nodes); err != nil {
				return nil, err
			}
			g.children[name] = children
		}
		ids = append(ids, children[n.ID]...)
	}
	return ids, nil
}

// maxKin bounds what is read of a related conversation.
const maxKin = 200

// addRelated adds a related conversation. Its flows are added too if it is a child of a requested one.
func (g *collector) addRelated(id string, mine bool) error {
	flows, err := g.flows(selectFlowsTalking, id, g.room())
	if err != nil || len(flows) > 0 && !mine {
		return err
	}
	if len(flows) > 0 {
		for _, n := range flows {
			if g.addNode(n) {
				g.mine[n.place()] = true
			}
		}
		return g.collectLate()
	}
	list, err := g.inStream(id, 0, min(maxKin, g.left+1))
	if err != nil {
		return err
	}
	g.addMessages(list, false)
	if !mine {
		delete(g.mine, place{Conversation, id})
	}
	return nil
}

// collectLate collects what flows caused that were added late.
func (g *collector) collectLate() error {
	for _, step := range []func() error{g.addEffects, g.addCauses, g.readFlows} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// selectAsked reads the requests of runs, and their final texts, up to a maximum length.
const selectAsked = `SELECT j.value ->> 0, e.seq, e.type, e.ver, e.data FROM json_each(?) j
 CROSS JOIN events e ON e.seq IN (j.value ->> 1, j.value ->> 2) WHERE coalesce(octet_length(e.data), 0) <= ?`

const (
	maxQuestions     = 200     // runs to read
	maxQuestionBytes = 1 << 20 // seq of the event to read
)

// readRequests reads the requests and answers of runs that belong to no flow.
func (g *collector) readRequests() error {
	var runs [][3]any
	for _, n := range g.inOrder() {
		if n.Kind == Run && n.own.job == "" && g.nodes[place{Flow, flowOf(n.ID)}] == nil && len(runs) < maxQuestions {
			runs = append(runs, [3]any{n.ID, n.Seq, n.own.overSeq})
		}
	}
	if len(runs) == 0 {
		return nil
	}
	var ids []string
	var events []eventstore.Event
	err := projections.EachRow(g.ctx, g.tx, "read questions", selectAsked, []any{projections.JSONList(runs), maxQuestionBytes}, func(rows *sql.Rows) error {
		var id string
		var e eventstore.Event
		var data []byte
		err := rows.Scan(&id, &e.Seq, &e.Type, &e.Ver, &data)
		e.Data = data
		ids, events = append(ids, id), append(events, e)
		return err
	})
	if err != nil {
		return err
	}
	if err := g.fill(events); err != nil {
		return err
	}
	for i := range events {
		if n := g.nodes[place{Run, ids[i]}]; n != nil && !events[i].Redacted() && len(events[i].Data) <= maxQuestionBytes {
			g.setMessage(n, &events[i])
		}
	}
	return nil
}

// setMessage stores a run's request or answer from its event.
func (g *collector) setMessage(n *Node, e *eventstore.Event) {
	_ = coordination.EachField(projections.Current(e).Data, func(name string, raw []byte) bool { // the store accepts only objects
		text, _ := coordination.StringValue(raw)
		switch {
		case name == "message" && e.Seq == n.Seq:
			n.Question = coordination.Preview(text, g.roster, previewLength)
		case name == "by" && e.Seq == n.Seq:
			n.By = coordination.Preview(text, g.roster, previewLength)
		case name == "text" && e.Seq != n.Seq:
			n.Answer = coordination.Preview(text, g.roster, previewLength)
		}
		return true
	})
}
