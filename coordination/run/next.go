package run

import "github.com/pronto-lab/openclawd/coordination"

// Next says where an event of type typ leads a run that is in state from; "" is a run that there is not yet. It moves nothing that is over
// and begins nothing twice, so that of all events that claim to end a run the first alone does. Tables are folded by it, and decisions
// are taken by it.
func Next(from State, typ string) (to State, moves bool) {
	switch typ {
	case coordination.TypeRunQueued:
		to, moves = Queued, from == ""
	case coordination.TypeRunStarted:
		to, moves = Running, from == Queued
	case coordination.TypeRunEnded:
		to, moves = OK, from == Running
	case coordination.TypeRunFailed:
		to, moves = Failed, from == Queued || from == Running
	case coordination.TypeRunAborted:
		to, moves = Aborted, from == Queued || from == Running
	case coordination.TypeRunTimedOut:
		to, moves = TimedOut, from == Running
	}
	if !moves {
		return from, false
	}
	return to, true
}

// typeOf is the type of the event that leads to a state, "" where none does.
func typeOf(to State) string {
	switch to {
	case Queued:
		return coordination.TypeRunQueued
	case Running:
		return coordination.TypeRunStarted
	case OK:
		return coordination.TypeRunEnded
	case Failed:
		return coordination.TypeRunFailed
	case Aborted:
		return coordination.TypeRunAborted
	case TimedOut:
		return coordination.TypeRunTimedOut
	}
	return ""
}
