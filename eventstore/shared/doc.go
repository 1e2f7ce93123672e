// Package shared is the seam between a store of one node and a log that several nodes share. Order and durability of a
// shared log come from a broker or a database; every node keeps its own tables, which it makes from the log.
//
// The log is a sequence of records, numbered from 1 without gaps. A [Record] is what one transaction of the writer
// appended. Only one node writes: before it does, it takes the lease, which appends a record without events that opens
// an epoch. From then on the number that an earlier writer expects to be free is taken: it is refused by the log, not by
// a clock. The lease only decides who tries.
//
// Packages jetstream and postgres implement [Log], and package sharedtest tests an implementation.
package shared
