// Package runs folds run.* events into current and past runs. It is a decision table: whether a run was requested
// before, and its state, are read from it within the transaction that appends. Events of an imported log change
// nothing here.
package runs
