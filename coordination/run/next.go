package run

import "github.com/pronto-lab/openclawd/coordination"

// Next returns the state to which an event of type typ moves a run in state from; "" is a run that does not exist yet. Nothing leaves an
// end state and nothing starts twice unless it was parked, so only the first of several ends counts. Folds and decisions both use it.
func Next(from State, typ string) (to State, moves bool) {
	switch typ {
	case coordination.TypeRunQueued:
		to, moves = Queued, from == ""
	case coordination.TypeRunStarted:
		to, moves = Running, from == Queued
	case coordination.TypeRunParked:
		to, moves = Queued, from == Running
	case coordination.TypeRunWoken:
		to, moves = Queued, from == Queued
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

// typeOf returns the type of the event that leads to a state, "" for none.
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
