// Package run folds run.* events into the runs that there are and were. It is a decision table: whether a run was asked for before, and how
// it stands, is read from it within the transaction that appends. Events of an imported log change nothing here.
package run
