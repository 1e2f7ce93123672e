package trace

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/index"
)

// settle brings in what was said in the work session or conversation that was asked for, once the runs and flows are there that it belongs
// to. A run that was refused something may have no other part in it.
func (g *growth) settle() error {
	var refused []string
	for _, h := range g.pending {
		if isRefusal(h.Type) && h.job == "" && h.parentRun != "" && g.nodes[place{Run, h.parentRun}] == nil {
			refused = append(refused, runName(h.parentRun))
		}
	}
	if len(refused) > 0 {
		runs, err := g.runs(selectRuns, jsonList(refused), g.room())
		if err != nil {
			return err
		}
		for _, n := range runs {
			g.take(n)
		}
		if err := g.up(); err != nil {
			return err
		}
	}
	g.keep(g.pending, g.asked)
	return nil
}

// refusalTypes are what the coordinator says to who may not send, or cannot.
var refusalTypes = []string{coordination.TypeA2AForbidden, coordination.TypeA2ADispatchFailed}

func isRefusal(typ string) bool { return slices.Contains(refusalTypes, typ) }

// maxRefusals bounds how many refusals are looked at: all that there were while the runs went on.
const maxRefusals = 1_000

// refusals brings in what the runs were refused that were asked for, or that those led to. Such a message has no flow, and may name no
// conversation.
func (g *growth) refusals() error {
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
	list, err := g.events(selectEvents, false, jsonList(seqs))
	if err != nil {
		return err
	}
	for _, h := range list {
		if p := (place{Run, h.parentRun}); h.job == "" && g.mine[p] && g.nodes[p] != nil {
			g.keep([]*heard{h}, false)
		}
	}
	return nil
}

// keep puts messages where they belong: to their flow where it is in the tree, else to their conversation or thread, which comes in with
// them. Those of a flow that was left out are left out too.
func (g *growth) keep(messages []*heard, asked bool) {
	for _, h := range messages {
		if !isHeard(h.Type) || g.said[h.Seq] {
			continue
		}
		if g.left == 0 {
			g.cut = true
			return
		}
		n := g.home(h)
		if n == nil {
			if h.job != "" && g.cut {
				continue
			}
			if n = g.gathering(h); n == nil {
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

// home is the run or flow in the tree that a message belongs to; nil for none. A refusal belongs to the run that was refused, also where it
// names the conversation of a flow.
func (g *growth) home(h *heard) *Node {
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

// flowHeard is the flow that a message belongs to, if it is in the tree. Events of spawns do not name their job: they belong to the flow that
// was begun last in their conversation, if that was not over.
func (g *growth) flowHeard(h *heard) (flow *Node) {
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

// gathering is the conversation or thread that a message belongs to, which comes in with its first one. It is nil where there is no room.
func (g *growth) gathering(h *heard) *Node {
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
	if !g.take(n) {
		return nil
	}
	return n
}

// hearFlows reads what was said in the flows that are in the tree, conversation by conversation.
func (g *growth) hearFlows() error {
	var order []string // that of the log, so that what is cut does not change from one time to the next
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
		if err := g.hearIn(id, flows[id]); err != nil {
			return err
		}
	}
	return nil
}

// messagesAtOnce bounds what one statement reads of a conversation.
const messagesAtOnce = 256

// hearIn reads the messages of some flows of one conversation, the first flow first, until each has its end.
func (g *growth) hearIn(conversationID string, flows []*Node) error {
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
			g.keep([]*heard{h}, false)
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

// relate brings in the conversations that those in the tree came from, and that came from them, as their messages and threads say.
func (g *growth) relate() error {
	var queue []*Node
	for _, n := range g.inOrder() {
		if n.Kind == Conversation {
			queue = append(queue, n)
		}
	}
	for i := 0; i < len(queue); i++ {
		kin, err := g.kin(queue[i])
		if err != nil {
			return err
		}
		for _, id := range kin {
			if id == queue[i].ID || g.nodes[place{Conversation, id}] != nil || g.cut {
				continue
			}
			if err := g.relative(id, id != queue[i].ParentConversation && g.mine[queue[i].place()]); err != nil {
				return err
			}
			if n := g.nodes[place{Conversation, id}]; n != nil {
				queue = append(queue, n)
			}
		}
	}
	return nil
}

// kin are the conversations that one came from, or that came from it.
func (g *growth) kin(n *Node) (ids []string, err error) {
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

// maxKin bounds what is read of a conversation that another one came from, or that came from it.
const maxKin = 200

// relative brings in another conversation. The flows in it come in too where it came from one that was asked for.
func (g *growth) relative(id string, mine bool) error {
	flows, err := g.flows(selectFlowsTalking, id, g.room())
	if err != nil || len(flows) > 0 && !mine {
		return err
	}
	if len(flows) > 0 {
		for _, n := range flows {
			if g.take(n) {
				g.mine[n.place()] = true
			}
		}
		return g.again()
	}
	list, err := g.inStream(id, 0, min(maxKin, g.left+1))
	if err != nil {
		return err
	}
	g.keep(list, false)
	if !mine {
		delete(g.mine, place{Conversation, id})
	}
	return nil
}

// again gathers what flows led to that came in late.
func (g *growth) again() error {
	for _, step := range []func() error{g.down, g.up, g.hearFlows} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// selectAsked reads what runs were asked, and what they said at the end, unless that is long.
const selectAsked = `SELECT j.value ->> 0, e.seq, e.type, e.ver, e.data FROM json_each(?) j
 CROSS JOIN events e ON e.seq IN (j.value ->> 1, j.value ->> 2) WHERE coalesce(octet_length(e.data), 0) <= ?`

const (
	maxQuestions     = 200     // runs of which it is read
	maxQuestionBytes = 1 << 20 // of an event that it is read from
)

// question reads what runs that belong to no flow were asked, and what they said.
func (g *growth) question() error {
	var runs [][3]any
	for _, n := range g.inOrder() {
		if n.Kind == Run && n.own.job == "" && g.nodes[place{Flow, flowOf(n.ID)}] == nil && len(runs) < maxQuestions {
			runs = append(runs, [3]any{n.ID, n.Seq, n.own.overSeq})
		}
	}
	if len(runs) == 0 {
		return nil
	}
	rows, err := g.tx.QueryContext(g.ctx, selectAsked, jsonOf(runs), maxQuestionBytes)
	if err != nil {
		return fmt.Errorf("read questions: %w", err)
	}
	defer rows.Close()
	var ids []string
	var events []eventstore.Event
	for rows.Next() {
		var id string
		var e eventstore.Event
		var data []byte
		if err := rows.Scan(&id, &e.Seq, &e.Type, &e.Ver, &data); err != nil {
			return fmt.Errorf("read questions: %w", err)
		}
		e.Data = data
		ids, events = append(ids, id), append(events, e)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read questions: %w", err)
	}
	if err := g.fill(events); err != nil {
		return err
	}
	for i := range events {
		if n := g.nodes[place{Run, ids[i]}]; n != nil && !events[i].Redacted() && len(events[i].Data) <= maxQuestionBytes {
			g.say(n, &events[i])
		}
	}
	return nil
}

// say takes over what a run was asked, or said, from the event that says so.
func (g *growth) say(n *Node, e *eventstore.Event) {
	_ = coordination.EachField(projections.Current(e).Data, func(name string, raw []byte) bool { // the store takes objects only
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
