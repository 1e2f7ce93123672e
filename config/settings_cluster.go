package config

import "time"

// Cluster says that this server is one node of several that share a log. The zero value is a server of its own.
type Cluster struct {
	Log        Secret // URL of the shared log, which may have credentials; "": none
	Node       string // name of this node; "": the host name
	Advertise  Advertise
	Reader     bool          // it never writes
	Lease      time.Duration // for which the writer may be silent
	Durability string        // ClusterStrict or ClusterRelaxed
	Token      Secret        // that nodes show each other
}

// Advertise are the addresses at which other nodes reach this one; "": those it listens on.
type Advertise struct{ Gateway, API string }

// Values of Cluster.Durability.
const (
	ClusterStrict  = "strict"  // what is acknowledged is on the disks of the shared log
	ClusterRelaxed = "relaxed" // a power failure may lose the last events
)

// On reports whether the log is shared.
func (c *Cluster) On() bool { return c.Log != "" }
