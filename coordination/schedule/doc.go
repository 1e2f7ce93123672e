// Package schedule decides when scheduled jobs are due and what follows from their runs. It is pure: the time is passed in.
package schedule
