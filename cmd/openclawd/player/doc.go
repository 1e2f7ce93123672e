// Package player plays a range of a log again: its events happen once more, at their own pace or faster, for whoever reads the tables and waits for
// the log, as the Task-Monitor API does. Nothing can be written.
package player
