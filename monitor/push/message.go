package push

// Message is something that has happened, in the wire's words: a change of a file or of what is made from one. It goes to everybody who
// is connected, in the order of publishing, and is not kept: whoever connects later asks REST.
type Message struct {
	Type    string // "task_update", say
	AgentID string // whom it is about; "" for nobody
	TaskID  string // which task it is about; "" for none
	Data    any    // marshalled to JSON when it is published; json.RawMessage is sent as it is; nil leaves it out
}

// Stats are for operators.
type Stats struct {
	Clients     int   // connected now
	Frames      int64 // written to any client since the start
	Dropped     int64 // clients closed because they did not keep up
	Seq         int64 // clients that follow have been told the log up to here
	QueuedBytes int64 // waiting for all clients together; a frame counts once for each
}
