package trace

import (
	"cmp"
	"maps"
	"slices"

	"github.com/pronto-lab/openclawd/projections"
)

// place is the position of a node among all.
type place struct {
	kind Kind
	id   string
}

func (n *Node) place() place { return place{n.Kind, n.ID} }

// collector collects the nodes of a trace: first the requested ones, then what they caused, then what caused them, and
// last their messages. Each node is added once, up to a maximum.
type collector struct {
	*reader
	options  Options
	nodes    map[place]*Node
	mine     map[place]bool                 // what was requested, and what that caused
	siblings map[string]map[string][]string // by work session: runs by the run that requested them
	children map[string]map[string][]string // by work session: conversations by their parent
	talking  map[string][]*Node             // flows by conversation
	pending  []*messageEvent                // messages of the requested work session or conversation
	asked    bool                           // it is a conversation
	said     map[int64]bool                 // events in the tree, by seq
	left     int                            // number of messages that may still be added
	cut      bool
}

func newCollector(r *reader, o Options) *collector {
	return &collector{reader: r, options: o, nodes: map[place]*Node{}, mine: map[place]bool{}, siblings: map[string]map[string][]string{},
		children: map[string]map[string][]string{}, talking: map[string][]*Node{}, said: map[int64]bool{}, left: o.Messages}
}

func (g *collector) collect(f found) error {
	if f.kind == Message {
		return g.message(f.seq)
	}
	if err := g.addRequested(f); err != nil {
		return err
	}
	return g.collectRelated()
}

// collectRelated collects everything about the requested nodes.
func (g *collector) collectRelated() error {
	for _, step := range []func() error{g.addEffects, g.addCauses, g.settle, g.readFlows, g.refusals, g.relate, g.readRequests} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// addRequested adds the object that an id names.
func (g *collector) addRequested(f found) (err error) {
	var runs, flows []*Node
	switch f.kind {
	case WorkSession:
		if flows, err = g.flows(selectFlowsOfSession, f.id, g.room()); err == nil {
			runs, err = g.runs(selectRunsOfSession, f.id, g.room())
		}
		if err == nil {
			g.pending, err = g.ofSession(f.id, g.left+1)
		}
	case Conversation:
		if flows, err = g.flows(selectFlowsTalking, f.id, g.room()); err == nil {
			runs, err = g.runs(selectRunsTalking, f.id, g.room())
		}
		if err == nil {
			g.pending, err = g.inStream(f.id, 0, g.left+1)
		}
	case Flow:
		flows, err = g.flows(selectFlows, projections.JSONList([]string{flowName(f.id)}), 1)
	case Run:
		runs, err = g.runs(selectRuns, projections.JSONList([]string{runName(f.id)}), 1)
	}
	if err != nil {
		return err
	}
	for _, n := range slices.Concat(flows, runs) {
		if n.Asked = f.kind != WorkSession; g.addNode(n) {
			g.mine[n.place()] = true
		}
	}
	g.asked = f.kind == Conversation
	return nil
}

// message traces an event: the node that it belongs to, with the event marked.
func (g *collector) message(seq int64) error {
	e, err := g.event(seq)
	if err != nil || e == nil {
		return err
	}
	belongs, err := g.owner(e)
	if err != nil {
		return err
	}
	e.Asked = true
	if belongs.kind == Conversation {
		around, err := g.around(seq, g.left)
		if err != nil {
			return err
		}
		for i := range around {
			if around[i].Seq == seq {
				around[i] = e
			}
		}
		g.pending, g.asked = around, true
	} else if err := g.addRequested(belongs); err != nil {
		return err
	}
	if err := g.collectRelated(); err != nil {
		return err
	}
	g.mark(e)
	return nil
}

// owner returns the node to trace for an event: its flow, its run, its conversation, or, if it has none of these, only
// the event.
func (g *collector) owner(e *messageEvent) (found, error) {
	for _, at := range [...]struct {
		kind              Kind
		query, arg, id    string
		onlyInItsOwnPlace bool
	}{
		{kind: Flow, query: selectFlowID, arg: flowName(e.job), id: e.job},
		{kind: Run, query: selectRunID, arg: runName(e.run), id: e.run},
		{kind: Run, query: selectRunID, arg: runName(e.parentRun), id: e.parentRun},
		{kind: Conversation, query: selectStream, arg: conversationStream + e.conversation, id: e.conversation, onlyInItsOwnPlace: true},
	} {
		if at.id == "" || at.onlyInItsOwnPlace && !isMessage(e.Type) {
			continue
		}
		var name string
		if ok, err := g.one(at.query, at.arg, &name); err != nil || ok {
			return found{kind: at.kind, id: at.id}, err
		}
	}
	return found{kind: Message}, nil
}

// mark shows the requested event, even if its family is not normally shown.
func (g *collector) mark(e *messageEvent) {
	for _, n := range g.nodes {
		for _, h := range n.own.heard {
			if h.Seq == e.Seq {
				h.Asked = true
				return
			}
		}
	}
	for _, p := range []place{{Flow, e.job}, {Run, e.run}, {Run, e.parentRun}} {
		if n := g.nodes[p]; n != nil {
			n.own.heard = append(n.own.heard, e)
			return
		}
	}
	alone := &Node{Kind: Message, ID: e.ID, Seq: e.Seq, Asked: true, From: e.From, To: e.To, WorkSession: e.session, Conversation: e.conversation, At: e.At}
	alone.own.heard = []*messageEvent{e}
	g.nodes[alone.place()] = alone
}

// room is how many more nodes fit, plus one to detect that there are more.
func (g *collector) room() int { return max(g.options.Nodes-len(g.nodes), 0) + 1 }

// addNode adds a node. It returns false for one that exists already, or exceeds the maximum.
func (g *collector) addNode(n *Node) bool {
	if g.nodes[n.place()] != nil {
		return false
	}
	if len(g.nodes) >= g.options.Nodes {
		g.cut = true
		return false
	}
	g.nodes[n.place()] = n
	if n.Kind == Flow && n.Conversation != "" {
		g.talking[n.Conversation] = append(g.talking[n.Conversation], n)
	}
	return true
}

// addEffects adds what the requested nodes caused: level by level, with a few reads each.
func (g *collector) addEffects() error {
	frontier := slices.Collect(maps.Keys(g.mine))
	for len(frontier) > 0 && !g.cut {
		var next []place
		children, err := g.childrenOf(frontier)
		if err != nil {
			return err
		}
		for _, n := range children {
			if g.addNode(n) {
				g.mine[n.place()] = true
				next = append(next, n.place())
			} else if known := g.nodes[n.place()]; known != nil && !g.mine[n.place()] {
				g.mine[n.place()] = true
				next = append(next, n.place())
			}
		}
		frontier = next
	}
	return nil
}

// childrenOf reads what some nodes caused.
func (g *collector) childrenOf(places []place) ([]*Node, error) {
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id)) })
	var runs []*Node
	var runIDs, jobs, named []string
	for _, p := range places {
		switch n := g.nodes[p]; p.kind {
		case Run:
			runs, runIDs = append(runs, n), append(runIDs, p.id)
			asked, err := g.askedBy(n)
			if err != nil {
				return nil, err
			}
			named = append(named, asked...)
		case Flow:
			jobs = append(jobs, p.id)
			named = append(named, runNames([]string{p.id, p.id + suffixResult, p.id + suffixAnnounce})...)
		}
	}
	var all []*Node
	for _, read := range []struct {
		of    int
		read  func(string, ...any) ([]*Node, error)
		query string
		list  string
	}{
		{len(runs), g.flows, selectFlowsOfRuns, spans(runs)},
		{len(runIDs), g.runs, selectRepeats, projections.JSONList(runIDs)},
		{len(jobs), g.runs, selectRunsOfFlows, projections.JSONList(jobs)},
		{len(named), g.runs, selectRuns, projections.JSONList(named)},
	} {
		if read.of == 0 {
			continue
		}
		list, err := read.read(read.query, read.list, g.options.Nodes+1)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// askedBy returns the names of runs of the same work session that were requested by a run.
func (g *collector) askedBy(n *Node) ([]string, error) {
	if n.WorkSession == "" {
		return nil, nil
	}
	known, read := g.siblings[n.WorkSession]
	if !read {
		var err error
		if known, err = g.childrenIn(n.WorkSession, g.options.Nodes); err != nil {
			return nil, err
		}
		g.siblings[n.WorkSession] = known
	}
	return known[n.ID], nil
}

// addCauses adds the causes of nodes, as far as they exist.
func (g *collector) addCauses() error {
	tried := map[place]bool{}
	for {
		var runs, flows []string
		for _, n := range g.nodes {
			for _, p := range n.origins() {
				if g.nodes[p] != nil {
					break
				}
				if tried[p] {
					continue
				}
				tried[p] = true
				if p.kind == Run {
					runs = append(runs, runName(p.id))
				} else {
					flows = append(flows, flowName(p.id))
				}
				break
			}
		}
		if len(runs)+len(flows) == 0 {
			return nil
		}
		above, err := g.runs(selectRuns, projections.JSONList(runs), len(runs))
		if err != nil {
			return err
		}
		more, err := g.flows(selectFlows, projections.JSONList(flows), len(flows))
		if err != nil {
			return err
		}
		for _, n := range append(above, more...) {
			g.addNode(n)
		}
	}
}
