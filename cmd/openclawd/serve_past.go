package main

import (
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/pronto-lab/openclawd/config"
)

// pastAsDatabase lets kept states be as large as the database.
const pastAsDatabase = "database"

func addPastSize(flags *pflag.FlagSet, size *string) {
	flags.StringVar(size, "past-size", pastAsDatabase,
		"`SIZE` of states kept for answers as of earlier events, e.g. 500MB or 2GB; 0: none; database: as large as the database")
}

// pastUnits are the units of a size, the longer ones first.
var pastUnits = []struct {
	name  string
	bytes int64
}{{"KB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30}, {"TB", 1 << 40}}

// checkPastSize rejects an invalid size.
func checkPastSize(text string) (func(database int64) int64, error) {
	trimmed := strings.ToUpper(strings.TrimSpace(text))
	if strings.ToLower(trimmed) == pastAsDatabase {
		return func(database int64) int64 { return database }, nil
	}
	unit := int64(1)
	for _, u := range pastUnits {
		if number, is := strings.CutSuffix(trimmed, u.name); is {
			trimmed, unit = strings.TrimSpace(number), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(trimmed, 10, 64)
	if err != nil || n < 0 || n > (1<<50)/unit {
		return nil, &config.SettingError{Setting: "--past-size", Value: text, HintText: "give a size such as 500MB or 2GB, 0 for none, or database"}
	}
	return func(int64) int64 { return n * unit }, nil
}
