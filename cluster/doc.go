// Package cluster runs one node of several that share a log. A node follows the log, takes the lease when no node holds
// it, and writes until another one does. What runs in each role is given as a function; the store of the node is behind
// an interface.
//
// The lease decides who tries, never who may write: that is decided by the log (package shared). So a node may guess that
// the writer is gone, and be wrong, without harm.
package cluster
