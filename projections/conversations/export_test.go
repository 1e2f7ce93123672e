package conversations

// What tests look at the plans of.
const (
	SelectCandidates = selectCandidates
	SelectRecent     = selectRecent
	SelectOpenRuns   = selectOpenRuns
	SelectOpenFlows  = selectOpenFlows
)

// Tallied returns how a tally is written that some JSON holds, and how it is read again: quick is "" if only the slow way reads it.
func Tallied(text string) (written, slow, quick string, err error) {
	t, err := parseTally(text)
	if err != nil {
		return "", "", "", err
	}
	written = t.format()
	if t, err = parseAnyTally(written); err != nil {
		return "", "", "", err
	}
	r := tallyReader{text: written}
	if q := r.tally(); !r.failed && r.text == "" {
		quick = q.format()
	}
	return written, t.format(), quick, nil
}
