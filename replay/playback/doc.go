// Package playback plays a range of a log again: its events happen once more, at their own pace or faster, for
// readers that query the tables and wait for the log, as the Task-Monitor API does. Nothing can be written.
package playback
