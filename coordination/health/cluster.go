package health

// ClusterRole is what a node of a cluster does.
type ClusterRole string

// Roles of nodes.
const (
	ClusterWriter   ClusterRole = "writer"   // it alone appends, and runs agents
	ClusterFollower ClusterRole = "follower" // it answers reads, and may become the writer
	ClusterReader   ClusterRole = "reader"   // it answers reads, and never becomes the writer
	ClusterOut      ClusterRole = "out"      // it has stopped, and only people can repair it
)

// NodeAddresses are where a node is reached by the other nodes.
type NodeAddresses struct {
	Gateway string `json:"gateway,omitempty"` // ws://host:port; "" without one
	API     string `json:"api"`               // http://host:port
}

// ClusterNode is what a node says of itself.
type ClusterNode struct {
	Node      string        `json:"node"`
	Role      ClusterRole   `json:"role"`
	At        NodeAddresses `json:"at"`
	Record    int64         `json:"record"` // newest record of the shared log that it has
	Seq       int64         `json:"seq"`    // newest event
	Hash      string        `json:"hash"`   // chain hash of that event
	Epoch     int64         `json:"epoch"`
	Stands    bool          `json:"stands,omitempty"`  // a person wants it to be the writer
	Process   string        `json:"process,omitempty"` // unlike that of all other processes
	StartedMs int64         `json:"startedMs"`         // when that was started, by its own clock
	Version   string        `json:"version,omitempty"`
	SaidMs    int64         `json:"saidAtMs"`        // by its own clock
	Error     string        `json:"error,omitempty"` // why it is out
	Code      string        `json:"code,omitempty"`  // of the error
}

// ClusterState is the state of a node of a cluster, and what it knows of the others.
type ClusterState struct {
	Node      string        `json:"node"`
	Role      ClusterRole   `json:"role"`
	SinceMs   int64         `json:"sinceMs"` // that it has the role
	Writer    string        `json:"writer"`  // node that opened the newest epoch; "" if there was none
	Epoch     int64         `json:"epoch"`
	Record    int64         `json:"record"`
	Seq       int64         `json:"seq"`
	Hash      string        `json:"hash"`
	Lag       int64         `json:"lag"` // events that another node has and this one lacks
	Takeovers int64         `json:"takeovers"`
	Commits   int64         `json:"commits"`   // records that this process appended
	Conflicts int64         `json:"conflicts"` // records that the shared log refused, because it has another in their place
	Failures  int64         `json:"failures"`  // records that it did not take, or whose end was unknown
	Error     string        `json:"error,omitempty"`
	Nodes     []ClusterNode `json:"nodes"` // by name, with this one
}
