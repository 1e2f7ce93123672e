package a2a

import (
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	decide "github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	flows "github.com/pronto-lab/openclawd/projections/a2a"
	"github.com/pronto-lab/openclawd/projections/session"
)

// maxChain is how many sessions that have started each other are looked at: more than may be.
const maxChain = 32

// lineage is where a session comes from.
type lineage struct {
	there   bool         // the session exists
	over    bool         // it is that of a sub-agent who has done its work
	spawner string       // key of the session that has started it; "" is nobody that is known
	flow    *decide.Flow // by which that was; nil is not known
	depth   int          // how many have started each other before it, by its settings; 0 is not known
}

// lineageOf finds out where a session comes from, also if it is deleted: the flow that made it knows.
func lineageOf(tx eventstore.Tx, key coordination.SessionKey) (l lineage, err error) {
	state, there, err := session.Load(tx, key)
	if l.there = there; err != nil || key.Kind != coordination.KeySubagent {
		return l, err
	}
	f, found, err := flows.Load(tx, key.ID)
	if err != nil {
		return l, fmt.Errorf("load the flow of %s: %w", key, err)
	}
	if found && f.Kind == string(decide.Spawn) && f.TargetSessionKey == key.String() {
		l.over, l.spawner, l.flow = !f.Phase.Open(), f.RequesterSessionKey, f
		return l, nil
	}
	l.spawner = state.Settings.Text("spawnedBy") // somebody else has made it
	if depth, is := coordination.NumberValue(state.Settings["spawnDepth"]); is {
		l.depth = int(depth)
	}
	return l, nil
}

// depthOf is how many sessions have started each other before this one: 0 for one that is no sub-agent's.
func depthOf(tx eventstore.Tx, key coordination.SessionKey) (depth int, err error) {
	for key.Kind == coordination.KeySubagent && depth < maxChain {
		l, err := lineageOf(tx, key)
		if err != nil {
			return 0, err
		}
		if l.depth > 0 {
			return depth + l.depth, nil
		}
		depth++
		if key, err = coordination.ParseSessionKey(l.spawner); err != nil {
			break // nobody knows
		}
	}
	return depth, nil
}

// ofSubagent is a run of a flow of kind spawn. It knows the real depth of its session, whatever depth was named.
func ofSubagent(tx eventstore.Tx, f *decide.Flow, ask run.Ask) (run.Ask, error) {
	if ask.RunID != f.JobID {
		return told(tx, f, ask)
	}
	from, err := coordination.ParseSessionKey(f.RequesterSessionKey)
	if err != nil {
		return ask, err
	}
	if f.DelegationID != "" && f.DelegationID != f.JobID { // the session of an attempt before this one may have the label
		holder, err := session.LabelHolder(tx, ask.Label)
		if err != nil {
			return ask, err
		}
		if holder != "" {
			ask.Label = ""
		}
	}
	above, err := depthOf(tx, from)
	depth := above + 1
	ask.Depth = &depth
	return ask, err
}

// told is who is told what came of a sub-agent: the session that has started it, or where that is gone, or that of a sub-agent who is done
// itself, the one that has started that. The answer goes where people spoke with that one when it started it. A session without anybody above
// it begins anew.
func told(tx eventstore.Tx, f *decide.Flow, ask run.Ask) (run.Ask, error) {
	key, err := coordination.ParseSessionKey(f.RequesterSessionKey)
	if err != nil {
		return ask, err
	}
	by := f // the flow by which that session has started something
	for range maxChain {
		l, err := lineageOf(tx, key)
		if err != nil {
			return ask, err
		}
		if key.Kind != coordination.KeySubagent || l.there && !l.over {
			break
		}
		above, err := coordination.ParseSessionKey(l.spawner)
		if err != nil {
			break // nobody is known
		}
		key, by = above, l.flow
	}
	ask.Session = key
	ask.Channel, ask.To, ask.AccountID, ask.ThreadID = "", "", "", ""
	if by != nil {
		ask.Channel, ask.To, ask.AccountID, ask.ThreadID = by.AnnounceChannel, by.AnnounceTo, by.AnnounceAccountID, by.AnnounceThreadID
	}
	ask.Deliver = ask.Channel != ""
	ask.Depth = nil
	depth, err := depthOf(tx, key)
	if depth > 0 {
		ask.Depth = &depth
	}
	return ask, err
}
