package messenger

import (
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

// maxChain bounds the ancestors that are followed, above any permitted depth.
const maxChain = 32

// lineage is the origin of a session.
type lineage struct {
	there   bool      // the session exists
	over    bool      // session of a sub-agent that is done
	spawner string    // key of the session that started it; "" if not known
	flow    *a2a.Flow // flow that started it; nil if not known
	depth   int       // spawn depth from its settings; 0 if not known
}

// lineageOf finds the origin of a session, from the flow that made it if it is deleted.
func lineageOf(tx eventstore.Tx, key coordination.SessionKey) (l lineage, err error) {
	state, there, err := sessions.Load(tx, key)
	if l.there = there; err != nil || key.Kind != coordination.KeySubagent {
		return l, err
	}
	f, found, err := flows.Load(tx, key.ID)
	if err != nil {
		return l, fmt.Errorf("load the flow of %s: %w", key, err)
	}
	if found && f.Kind == string(a2a.Spawn) && f.TargetSessionKey == key.String() {
		l.over, l.spawner, l.flow = !f.Phase.Open(), f.RequesterSessionKey, f
		return l, nil
	}
	l.spawner = state.Settings.Text("spawnedBy") // it was made otherwise
	if depth, is := coordination.NumberValue(state.Settings["spawnDepth"]); is {
		l.depth = int(depth)
	}
	return l, nil
}

// depthOf returns the spawn depth of a session: 0 if it is not a sub-agent's.
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
			break // not known
		}
	}
	return depth, nil
}

// ofSubagent returns a run of a spawn flow. The run has the real depth of its session, whatever the caller has claimed.
func ofSubagent(tx eventstore.Tx, f *a2a.Flow, ask run.Ask) (run.Ask, error) {
	if ask.RunID != f.JobID {
		return resultRecipient(tx, f, ask)
	}
	from, err := coordination.ParseSessionKey(f.RequesterSessionKey)
	if err != nil {
		return ask, err
	}
	if f.DelegationID != "" && f.DelegationID != f.JobID { // a previous attempt's session may have the label
		holder, err := sessions.LabelHolder(tx, ask.Label)
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

// resultRecipient returns the session that is told the result of a sub-agent: its parent, or if that is gone, or belongs to a sub-agent that is
// done, the nearest ancestor. The reply goes to the delivery target at the time of the start. Without an ancestor the parent session
// begins again.
func resultRecipient(tx eventstore.Tx, f *a2a.Flow, ask run.Ask) (run.Ask, error) {
	key, err := coordination.ParseSessionKey(f.RequesterSessionKey)
	if err != nil {
		return ask, err
	}
	by := f // flow by which that session has started something
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
			break // no ancestor is known
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
