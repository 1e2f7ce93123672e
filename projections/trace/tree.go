package trace

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Suffixes of a run's id after its flow's.
const (
	suffixRetry    = ".r"
	suffixTurn     = ".t"
	suffixAnnounce = ".a"
	suffixResult   = ".p"
)

// origins are the possible parents of a node; the first that exists counts.
func (n *Node) origins() (list []place) {
	add := func(kind Kind, id string) {
		if id != "" && (kind != n.Kind || id != n.ID) {
			list = append(list, place{kind, id})
		}
	}
	switch n.Kind {
	case Run:
		add(Run, n.own.retryOf)
		add(Flow, n.own.job)
		if strings.HasSuffix(n.ID, suffixResult) || strings.HasSuffix(n.ID, suffixAnnounce) {
			add(Flow, flowOf(n.ID))
		}
		add(Run, n.own.parentRun)
	case Flow:
		add(Run, n.own.requester)
	}
	return list
}

// inOrder returns all nodes in a deterministic order.
func (g *collector) inOrder() []*Node {
	list := make([]*Node, 0, len(g.nodes))
	for _, n := range g.nodes {
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// buildTree builds trees of nodes: each is below its cause, or is a root. If a log claims a causal cycle, the first node
// of the cycle is a root.
func buildTree(list []*Node) (roots []*Node) {
	at := map[place]*Node{}
	for _, n := range list {
		at[n.place()] = n
	}
	for _, n := range list {
		for _, p := range n.origins() {
			if n.parent = at[p]; n.parent != nil {
				break
			}
			n.Missing = string(p.kind) + " " + p.id
		}
		if n.parent != nil {
			n.Missing = ""
		} else if parent := at[place{Conversation, n.ParentConversation}]; parent != n {
			n.parent = parent
		}
	}
	checked := map[*Node]int{} // by which walk
	for i, n := range list {
		for above := n; above != nil && checked[above] != i+1; above = above.parent {
			if checked[above] != 0 {
				break // an earlier walk has found that it ends
			}
			checked[above] = i + 1
			if above.parent != nil && checked[above.parent] == i+1 {
				first := above
				for c := above.parent; c != above; c = c.parent {
					if c.Seq < first.Seq || c.Seq == first.Seq && c.ID < first.ID {
						first = c
					}
				}
				first.Missing = string(first.parent.Kind) + " " + first.parent.ID
				first.parent = nil
				break
			}
		}
	}
	roots = []*Node{}
	for _, n := range list {
		if n.parent == nil {
			roots = append(roots, n)
		} else {
			n.parent.Children = append(n.parent.Children, n)
		}
	}
	return roots
}

// play determines a run's role in its flow.
func (n *Node) play() {
	above := n.parent
	if n.Kind != Run || above == nil {
		return
	}
	if above.Kind == Run && above.ID == n.own.retryOf {
		n.Role = RoleRepeat
		return
	}
	rest, of := strings.CutPrefix(n.ID, above.ID)
	if above.Kind != Flow || !of {
		return
	}
	number := func(suffix string) (k int, is bool) {
		digits, is := strings.CutPrefix(rest, suffix)
		k, err := strconv.Atoi(digits)
		return k, is && err == nil && k > 0
	}
	if k, is := number(suffixRetry); is {
		n.Role, n.Attempt = RoleRetry, k
	} else if k, is := number(suffixTurn); is {
		n.Role, n.Turn = RoleTurn, k
	} else if role := map[string]string{"": RoleAnswer, suffixAnnounce: RoleAnnounce, suffixResult: RoleResult}[rest]; role != "" {
		n.Role = role
	}
}
