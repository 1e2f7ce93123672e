package push

// Message is a change of a file or of derived data, in the API's form. It goes to all connected clients in publishing
// order and is not stored: later clients use REST.
type Message struct {
	Type    string // e.g. "task_update"
	AgentID string // the agent it is about; "" for none
	TaskID  string // the task it is about; "" for none
	Data    any    // encoded as JSON when published; json.RawMessage is sent as it is; nil leaves it out

	seq *int64 // of a tick
}

// Stats are statistics for operators.
type Stats struct {
	Clients     int   // connected now
	Frames      int64 // written to clients since the start
	Dropped     int64 // clients closed as too slow
	Seq         int64 // seq that live clients have been sent
	QueuedBytes int64 // queued for all clients; a frame counts once per client
}
