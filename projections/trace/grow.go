package trace

import (
	"cmp"
	"maps"
	"slices"
)

// place is where a node stands among all.
type place struct {
	kind Kind
	id   string
}

func (n *Node) place() place { return place{n.Kind, n.ID} }

// growth gathers the nodes of a trace: first those that were asked for, then what they led to, then what they come from, and last what was
// said in them. No node comes in twice, and there are only so many.
type growth struct {
	*reader
	options  Options
	nodes    map[place]*Node
	mine     map[place]bool                 // what was asked for, and what that led to
	siblings map[string]map[string][]string // by work session: the runs that say which run has asked for them
	children map[string]map[string][]string // by work session: the conversations that came from other ones, by those
	talking  map[string][]*Node             // flows, by conversation
	pending  []*heard                       // messages of the work session or conversation that was asked for
	asked    bool                           // it is a conversation
	said     map[int64]bool                 // events that are in the tree, by seq
	left     int                            // messages that may still come in
	cut      bool
}

func newGrowth(r *reader, o Options) *growth {
	return &growth{reader: r, options: o, nodes: map[place]*Node{}, mine: map[place]bool{}, siblings: map[string]map[string][]string{},
		children: map[string]map[string][]string{}, talking: map[string][]*Node{}, said: map[int64]bool{}, left: o.Messages}
}

func (g *growth) grow(f found) error {
	if f.kind == Message {
		return g.message(f.seq)
	}
	if err := g.sow(f); err != nil {
		return err
	}
	return g.thrive()
}

// thrive gathers everything about the nodes that were asked for.
func (g *growth) thrive() error {
	for _, step := range []func() error{g.down, g.up, g.settle, g.hearFlows, g.refusals, g.relate, g.question} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// sow brings in what an id names.
func (g *growth) sow(f found) (err error) {
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
		flows, err = g.flows(selectFlows, jsonList([]string{flowName(f.id)}), 1)
	case Run:
		runs, err = g.runs(selectRuns, jsonList([]string{runName(f.id)}), 1)
	}
	if err != nil {
		return err
	}
	for _, n := range slices.Concat(flows, runs) {
		if n.Asked = f.kind != WorkSession; g.take(n) {
			g.mine[n.place()] = true
		}
	}
	g.asked = f.kind == Conversation
	return nil
}

// message traces an event: what it belongs to, with the event marked.
func (g *growth) message(seq int64) error {
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
	} else if err := g.sow(belongs); err != nil {
		return err
	}
	if err := g.thrive(); err != nil {
		return err
	}
	g.mark(e)
	return nil
}

// owner is what an event is traced by: its flow, its run, its conversation, or, where it names none of these that there is, it alone.
func (g *growth) owner(e *heard) (found, error) {
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
		if at.id == "" || at.onlyInItsOwnPlace && !isHeard(e.Type) {
			continue
		}
		var name string
		if ok, err := g.one(at.query, at.arg, &name); err != nil || ok {
			return found{kind: at.kind, id: at.id}, err
		}
	}
	return found{kind: Message}, nil
}

// mark shows an event that was asked for, also where it is of a family that is not shown otherwise.
func (g *growth) mark(e *heard) {
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
	alone.own.heard = []*heard{e}
	g.nodes[alone.place()] = alone
}

// room is how many more nodes may come in, and one to see that there are more.
func (g *growth) room() int { return max(g.options.Nodes-len(g.nodes), 0) + 1 }

// take brings a node in. It is false for one that is there, and for one too many.
func (g *growth) take(n *Node) bool {
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

// down brings in what the nodes led to that were asked for: step by step, each with a few reads.
func (g *growth) down() error {
	frontier := slices.Collect(maps.Keys(g.mine))
	for len(frontier) > 0 && !g.cut {
		var next []place
		children, err := g.childrenOf(frontier)
		if err != nil {
			return err
		}
		for _, n := range children {
			if g.take(n) {
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

// childrenOf reads what some nodes led to.
func (g *growth) childrenOf(places []place) ([]*Node, error) {
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
		{len(runIDs), g.runs, selectRepeats, jsonList(runIDs)},
		{len(jobs), g.runs, selectRunsOfFlows, jsonList(jobs)},
		{len(named), g.runs, selectRuns, jsonList(named)},
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

// askedBy are the names of runs of the same work session that say that a run has asked for them.
func (g *growth) askedBy(n *Node) ([]string, error) {
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

// up brings in what nodes come from, as far as it is there.
func (g *growth) up() error {
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
		above, err := g.runs(selectRuns, jsonList(runs), len(runs))
		if err != nil {
			return err
		}
		more, err := g.flows(selectFlows, jsonList(flows), len(flows))
		if err != nil {
			return err
		}
		for _, n := range append(above, more...) {
			g.take(n)
		}
	}
}
