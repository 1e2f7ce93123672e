// Package overrides keeps the category overrides of the log and the file of them in the state directory, which other programs read and
// people edit, the same.
//
// The log is what counts, and every change of the file's own becomes an event. Between two looks the file and the log are each compared
// with what they last agreed on: who changed an entry wins; where both did, the later of the file's time and the event's does.
//
// What they agreed on is kept over restarts in a file of its own beside the database, with the seq and hash of the log's last word on any
// work session at that moment: it counts only for a log that holds that very event, and any later word is a change of the log's. It is
// written after the file, so one that a crash leaves behind is older than the file: then what both have changed alike meanwhile is no
// difference, and what the log alone seems to have changed stands. Without it, because it was lost or is of another log, the time decides
// about every entry in which file and log differ: a write of ours that a crash kept from the file is older there than the event, an edit
// made while nothing ran is newer. An entry that nobody ever spoke of is taken in any case.
//
// An entry that is missing from the file counts as taken back by the same rule; a file that is missing as a whole takes nothing back
// and is written again.
//
// What cannot be understood is never written over: while the file is no JSON object of this shape it is left as it is, and an entry that is
// none stays in it as it was written and is reported. The other entries are taken, and written, all the same.
package overrides
