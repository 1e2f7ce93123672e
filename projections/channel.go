package projections

import "github.com/pronto-lab/openclawd/coordination"

// InChannel is the condition that an id of a place belongs to a channel: those of Discord are numbers, the others begin
// with the channel's name.
func InChannel(column, channel string) (condition string, args []any) {
	if channel == coordination.Discord {
		return column + " < ?", []any{afterDigits}
	}
	return column + " >= ? AND " + column + " < ?", []any{channel + ":", channel + ";"}
}

// afterDigits sorts behind every number.
const afterDigits = ":"
