// Package overrides synchronizes the category overrides of the log with their file in the state directory, which other programs read and
// people edit.
//
// The log is authoritative, and every change of the file becomes an event. The file and the log are each compared with their last common
// state, the agreement: the side that changed an entry wins; if both did, the later of the file's time and the event's does.
//
// The agreement survives restarts in a file beside the database, with the seq and hash of the last override event at that time: it is
// valid only for a log with that event, and later override events are changes of the log. It is written after the overrides file, so
// after a crash it is older than that: identical changes of both sides are then no difference, and apparent changes of the log stand.
// Without it, if it was lost or belongs to another log, times decide about every entry that differs: a write that a crash prevented is
// older in the file than the event, an edit made while nothing ran is newer. An entry that the log does not know is always taken.
//
// A missing entry counts as removed by the same rule; a missing file removes nothing and is written again.
//
// What cannot be parsed is never overwritten: a file that is no JSON object of this shape is left as it is, and an invalid entry stays
// in the file as written and is reported. The other entries are read and written all the same.
package overrides
