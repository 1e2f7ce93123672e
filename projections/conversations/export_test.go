package conversations

// What tests look at the plans of.
const (
	SelectCandidates = selectCandidates
	SelectRecent     = selectRecent
	SelectOpenRuns   = selectOpenRuns
	SelectOpenFlows  = selectOpenFlows
)
