package ndjson

import "maps"

// FileReport is the result of importing one file. It covers what is stored, even if the import ended with an error.
//
//	Lines            = Blank + Accepted + all Rejected
//	New + Duplicates = Accepted + all Rejected (if these are stored as events) - Lost
type FileReport struct {
	Name       string           `json:"name"`
	Bytes      int64            `json:"bytes"` // bytes of the file that these lines take; reading can continue from there
	Lines      int64            `json:"lines"`
	Blank      int64            `json:"blank"`
	Accepted   int64            `json:"accepted"`
	Rejected   map[Reason]int64 `json:"rejected,omitempty"`
	New        int64            `json:"new"`        // events added to the log
	Duplicates int64            `json:"duplicates"` // events that were already in the log
	Restored   int64            `json:"restored"`   // of New: restored exactly, from a full export
	Lost       int64            `json:"lost"`       // redacted events of a full export that could not be restored exactly
	Tail       int64            `json:"tail"`       // bytes of an unfinished last line, which was left alone
	FirstTS    int64            `json:"firstTs"`    // earliest and latest time of an accepted line, ms since 1970;
	LastTS     int64            `json:"lastTs"`     // both 0 if none has one
}

// RejectedLines is the number of rejected lines.
func (r *FileReport) RejectedLines() (n int64) {
	for _, lines := range r.Rejected {
		n += lines
	}
	return n
}

func (r *FileReport) reject(reason Reason, lines int64) {
	if r.Rejected == nil {
		r.Rejected = map[Reason]int64{}
	}
	r.Rejected[reason] += lines
}

func (r *FileReport) happened(first, last int64) {
	switch {
	case first == 0 && last == 0:
	case r.FirstTS == 0 && r.LastTS == 0:
		r.FirstTS, r.LastTS = first, last
	default:
		r.FirstTS, r.LastTS = min(r.FirstTS, first), max(r.LastTS, last)
	}
}

func (r *FileReport) add(more FileReport) {
	r.Bytes += more.Bytes
	r.Lines += more.Lines
	r.Blank += more.Blank
	r.Accepted += more.Accepted
	for reason, lines := range more.Rejected {
		r.reject(reason, lines)
	}
	r.New += more.New
	r.Duplicates += more.Duplicates
	r.Restored += more.Restored
	r.Lost += more.Lost
	r.Tail += more.Tail
	r.happened(more.FirstTS, more.LastTS)
}

// Report is the result of importing several files.
type Report struct {
	Files []FileReport `json:"files"`
}

// Total is the sum over all files. It has no name.
func (r *Report) Total() FileReport {
	var total FileReport
	for _, f := range r.Files {
		total.add(f)
	}
	return total
}

// Progress is the progress of importing a file.
type Progress struct {
	FileReport       // so far; read-only
	Size       int64 // of the file when it was opened; 0 if unknown
	File       int   // number of the file, from 1
	Files      int   // number of files
}

func (r *FileReport) snapshot() FileReport {
	c := *r
	c.Rejected = maps.Clone(r.Rejected)
	return c
}
